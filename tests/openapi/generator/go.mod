module client

go 1.21
