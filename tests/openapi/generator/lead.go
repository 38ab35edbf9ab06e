// A lead of every section, by the client that openapi-generator makes; its table is read until it is complete.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"client/offerd"
)

func main() {
	var lead offerd.LeadCreateData
	sample, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(sample, &lead))
	settings := offerd.NewConfiguration()
	settings.Servers = offerd.ServerConfigurations{{URL: os.Getenv("API")}}
	settings.AddDefaultHeader("Authorization", "Bearer "+os.Getenv("OFFERD_TOKEN"))
	tables := offerd.NewAPIClient(settings).RateTablesAPI
	table, _, err := tables.SubmitLead(context.Background()).LeadCreateData(lead).Execute()
	must(err)
	for len(table.PendingResponses) > 0 {
		table, _, err = tables.GetRateTable(context.Background(), table.Uuid).Prefer("wait=20").Execute()
		must(err)
	}
	if len(table.LoanOffers) == 0 || len(table.CreditCardOffers) == 0 || len(table.SavingsOffers) == 0 {
		log.Fatal("offers were wanted")
	}
	fmt.Println("a lead of every section works by openapi-generator in Go")
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
