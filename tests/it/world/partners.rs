//! What partners answer that HTTP, XML, JSON and OAuth allow, or that most clients bear; and what they answer that nobody can read.

use std::io::Write;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::kit::far_partners::{explained, offers, secret_file, stepped};
use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender};
use crate::kit::{Daemon, sample};

/// An offer in JSON, as the mappings of a far lender read it.
const JSON: &str = r#"{"offers":[{"term":36,"apr":9.5}]}"#;

/// What `partners try` shows of that offer.
const OFFER: &str = "9.5 % APR";

/// A mapping by which whatever is not said to be good declines.
const NO_OK: &str = "declined = \"response.status != 'ok'\"";

/// What is wrong with an answer without a list of offers, and what to change.
const NO_LIST: &str = "set `answer.empty = \"declines\"`";

/// Why an answer is no decline of a file whose empty answers decline.
const NOT_EMPTY: &str = "`answer.empty` declines only for what is empty";

/// An answer, and what becomes of it.
struct Case {
    /// Where it was seen.
    seen: &'static str,
    answer: Vec<u8>,
    /// What its partner's file has in place of `declined = "response.no"`.
    mapping: &'static str,
    /// What `partners try` says.
    wanted: &'static str,
}

fn case(seen: &'static str, answer: Vec<u8>, wanted: &'static str) -> Case {
    Case { seen, answer, mapping: "declined = \"response.no\"", wanted }
}

impl Case {
    /// The same, with another mapping.
    fn mapped(self, mapping: &'static str) -> Self {
        Self { mapping, ..self }
    }
}

/// An answer 200 with these header lines.
fn answer(lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 200 OK\r\n{lines}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn json_answer(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("content-type: application/json\r\n", body)
}

fn xml_answer(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("content-type: text/xml\r\n", body)
}

/// An offer in XML whose rate is written so.
fn xml(apr: &str) -> String {
    format!(
        "<r xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><offers><term>36</term>{apr}</offers></r>"
    )
}

fn coded(coding: &str, body: Vec<u8>) -> Vec<u8> {
    answer(&format!("content-type: application/json\r\ncontent-encoding: {coding}\r\n"), body)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn brotli(body: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut &*body, &mut coded, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    coded
}

/// The same with the extension for large windows, of which a file of some bytes may ask for 1 GiB.
fn brotli_of_large_window(body: &[u8]) -> Vec<u8> {
    let parameters = brotli::enc::BrotliEncoderParams { large_window: true, lgwin: 30, ..Default::default() };
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut &*body, &mut coded, &parameters).unwrap();
    coded
}

fn utf16(text: &str, little: bool) -> Vec<u8> {
    let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

/// What the codings, the head and the emptiness of an answer may be.
#[rustfmt::skip]
fn of_http() -> Vec<Case> {
    let empty = |status: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n")
    };
    let no_content = "HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\n\r\n";
    let many: String = (0..120).map(|nth| format!("x-trace-{nth}: {nth}\r\n")).collect();
    let repeated = "content-type: application/json\r\nx-result: REJECTED\r\nx-result: SCORE\r\n";
    let latin = b"HTTP/1.1 200 OK\r\nx-agent: Jos\xe9\r\ncontent-length: 2\r\n\r\n{}";
    vec![
        case("Aliyun's SDK: 204 keeps the content type of the API", no_content.into(), "declined")
            .mapped("declined = \"status == 204\""),
        case("Amazon SWF: 200, a JSON content type, and nothing", empty("200 OK").into(), NO_LIST),
        case("the same, declared", empty("200 OK").into(), "declined").mapped("empty = \"declines\""),
        case("the same, as a mapping has it", empty("200 OK").into(), "declined")
            .mapped("declined = \"response == ''\""),
        case("a CDN compresses whatever is asked for", coded("gzip", gzip(JSON.as_bytes())), OFFER),
        case("Tomcat's old name of gzip", coded("x-gzip", gzip(JSON.as_bytes())), OFFER),
        case("capitals, and a coding that is none", coded("identity, GZIP", gzip(JSON.as_bytes())), OFFER),
        case("gzip in two members, as a proxy joins them", coded("gzip", [gzip(&JSON.as_bytes()[..9]), gzip(&JSON.as_bytes()[9..])].concat()), OFFER),
        case("gzip of which a proxy's buffer took a part", coded("gzip", gzip(JSON.as_bytes())[..25].to_vec()), "is cut off: it ends before its `Content-Encoding` does"),
        case("deflate, as the RFC has it", coded("deflate", zlib(JSON.as_bytes())), OFFER),
        case("deflate, as IIS has it", coded("deflate", deflate(JSON.as_bytes())), OFFER),
        case("an edge that prefers brotli", coded("br", brotli(JSON.as_bytes())), OFFER),
        case("brotli's large window", coded("br", brotli_of_large_window(JSON.as_bytes())), "compressed with Brotli's large window"),
        case(
            "a gateway over a gateway, each compressing",
            coded("gzip, gzip", gzip(&gzip(JSON.as_bytes()))),
            OFFER,
        ),
        case(
            "an edge that prefers zstd",
            coded("zstd", b"\x28\xb5\x2f\xfd".to_vec()),
            "`Content-Encoding` must be gzip, deflate, br or identity",
        ),
        case(
            "a proxy that decompresses and leaves the header",
            coded("gzip", JSON.into()),
            "cannot be decompressed: it is not what the partner's `Content-Encoding` says",
        ),
        case(
            "an old gateway folds its long headers",
            answer("x-policy: a;\r\n b\r\ncontent-type: application/json\r\n", JSON),
            OFFER,
        ),
        case("an embedded server sets a space before the colon", answer("Server : HTTPsrv\r\n", JSON), OFFER),
        case(
            "a script prints a warning among the headers",
            answer("PHP Warning without a colon\r\n", JSON),
            OFFER,
        ),
        case("a chain of proxies that each adds its own", answer(&many, JSON), OFFER),
        case("a decision in two lines of one header", answer(repeated, "{}"), "declined")
            .mapped("declined = \"header['X-Result'] == 'REJECTED, SCORE'\""),
        case("a header in Latin-1", latin.to_vec(), "declined")
            .mapped("declined = \"header['x-agent'] == 'José'\""),
        case(
            "a login page of a proxy, with status 200",
            answer("content-type: text/html\r\n", "<!DOCTYPE html><html></html>"),
            "is not JSON or XML but an HTML page",
        ),
    ]
}

/// What may mean that there are no offers, and what may not.
fn of_declines() -> Vec<Case> {
    vec![
        case("an error that is called an answer", json_answer(r#"{"error":"down"}"#), NOT_EMPTY)
            .mapped("empty = \"declines\""),
        case("a text of a balancer", answer("content-type: text/plain\r\n", "down"), NOT_EMPTY)
            .mapped("empty = \"declines\""),
        case("a failure in words, with status 200", json_answer(r#"{"status":"failed"}"#), NOT_EMPTY)
            .mapped("empty = \"declines\""),
        case("a code of HTTP within an answer", json_answer(r#"{"code":500,"message":"later"}"#), NOT_EMPTY)
            .mapped("empty = \"declines\""),
        case("a state without a list, declared", json_answer(r#"{"state":"none"}"#), "declined")
            .mapped("empty = \"declines\""),
        case("a code that is a number", json_answer(r#"{"code":0}"#), "declined: low_fico")
            .mapped("reasons = { 0 = \"low_fico\" }, declined = \"response.code\""),
    ]
}

/// What no reader of HTTP takes, and what answers that no offers can be in.
#[rustfmt::skip]
fn of_broken_http() -> Vec<Case> {
    let head = |status: &str, lines: &str, body: &str| {
        format!("{status}\r\ncontent-type: application/json\r\n{lines}\r\n{body}").into_bytes()
    };
    let ok = "HTTP/1.1 200 OK";
    let many: String = (0..300).map(|nth| format!("x-trace-{nth}: {nth}\r\n")).collect();
    let to_https = "<html>400 The plain HTTP request was sent to HTTPS port</html>";
    let page = "<html>Service Unavailable</html>";
    let of_status = |status: &str, lines: &str, body: &str| {
        head(&format!("HTTP/1.1 {status}"), &format!("{lines}content-length: {}\r\n", body.len()), body)
    };
    vec![
        case("a chain of proxies without end", head(ok, &many, JSON), "has more than 256 lines, or more than 64 KiB"),
        case("a script that forgets the number", head("HTTP/1.1 OK", "", JSON), "the status line of the answer is not HTTP"),
        case("a radio server", head("ICY 200 OK", "", JSON), "does not begin with `HTTP/1.0` or `HTTP/1.1`"),
        case("two lengths, of a filter and of what it filters", head(ok, "content-length: \
            2\r\ncontent-length: 3\r\n", JSON), "gives conflicting lengths"),
        case("a length that is none", head(ok, "content-length: 1,024\r\n", JSON), "gives conflicting \
            lengths"),
        case("chunks of an old gateway that says 1.0", head("HTTP/1.0 200 OK", "transfer-encoding: \
            chunked\r\n", JSON), "gives conflicting lengths"),
        case("a script that says chunked and sends none", head(ok, "transfer-encoding: chunked\r\n", JSON), "has a chunk that is not as long as it says"),
        case("compressed for the way", head(ok, "transfer-encoding: gzip, chunked\r\n", "0\r\n\r\n"), "compressed by its `Transfer-Encoding`"),
        case("rustls and OpenSSL, asked without TLS", b"\x15\x03\x03\x00\x02\x02\x0a".to_vec(), "the port \
            expects TLS; use `https://`"),
        case("nginx, asked without TLS", of_status("400 Bad Request", "", to_https), "the port expects TLS; \
            use `https://`"),
        case("a new host", of_status("302 Found", "location: https://new.example/\r\n", ""), "status 302: \
            it is a redirect, which offerd does not follow; use the address in its `Location`"),
        case("a session that has ended", of_status("302 Found", "location: /Account/Login?ReturnUrl=%2fquotes\r\n", ""), "it is a redirect to a page for signing in"),
        case("WCF, of which a service has failed", of_status("500 Oops", "", "<Envelope><Body><Fault><faultstring>The pricing is closed.</faultstring></Fault></Body></Envelope>"), "status 500: it is a SOAP fault"),
        case("a new host that is not said", of_status("307 Temporary Redirect", "", ""), "status 307: it is \
            a redirect, which offerd does not follow, without a `Location`"),
        case("a cache that has a part", of_status("206 Partial Content", "content-range: bytes 0-33/34\r\n", JSON), "the answer has status 206: it is a part"),
        case("a page of a balancer", of_status("503 Service Unavailable", "", page), "status 503: it is an \
            HTML page"),
        case("the same, of a partner that declines by a word", of_status("502 Bad Gateway", "", page), "status 502: it is an \
            HTML page").mapped(NO_OK),
        case("a gateway that limits calls", of_status("429 Too Many Requests", "", r#"{"error":"slow down"}"#), "the answer has status 429").mapped(NO_OK),
        case("a gateway that has lost a key", of_status("401 Unauthorized", "", "{}"), "the answer has status 401").mapped(NO_OK),
        case("a new host, of such a partner", of_status("301 Moved Permanently", "", ""), "status 301: it is a redirect").mapped(NO_OK),
        case("no answer of such a partner", of_status("200 OK", "", ""), "looks for names in `response`, but the answer is an empty text").mapped(NO_OK),
        case("its answer made twice", of_status("200 OK", "", r#""{\"status\":\"ok\"}""#), "is a text that holds JSON").mapped(NO_OK),
        case("its decline", of_status("200 OK", "", r#"{"status":"no"}"#), "declined").mapped(NO_OK),
        case("nginx, of a partner that has nothing", of_status("404 Not Found", "", page), "declined").mapped("declined = \"status == 404\""),
        case("a failure in words, with its status", of_status("422 Unprocessable Content", "", r#"{"why":"age"}"#), "is an error, with status 422").mapped("error = \"response.why if status == 422\""),
    ]
}

/// What JSON and XML may be.
#[rustfmt::skip]
fn of_bodies() -> Vec<Case> {
    let rate = "<apr>9.5</apr>";
    let latin = |declaration: &str| {
        let text = format!("{declaration}{}", xml("<apr>9.5</apr><who>Jos\u{e9}</who>"));
        text.chars().map(|letter| letter as u8).collect::<Vec<_>>()
    };
    vec![
        case(".NET writes a byte order mark", json_answer(format!("\u{feff}{JSON}")), OFFER),
        case("SQL Server's JSON in UTF-16 with its mark", json_answer(utf16(&format!("\u{feff}{JSON}"), true)), OFFER),
        case("the same without it", json_answer(utf16(JSON, false)), OFFER),
        case("an emoji of a name cut in the middle, as JavaScript and .NET do", json_answer(format!(r#"{{"who":"\\\ud83d","what":"\ud83d\ude00",{}"#, &JSON[1..])), OFFER),
        case("JSON that is called HTML, as PHP does", answer("content-type: text/html; charset=utf-8\r\n", JSON), OFFER),
        case("XML that is called JSON", json_answer(xml(rate)), OFFER),
        case("a type of each element, as .NET's serializer writes", xml_answer(xml("<apr xsi:type=\"xsd:decimal\">9.5</apr>")), OFFER),
        case("a currency or a unit beside a figure", xml_answer(xml("<apr unit=\"percent\">9.5</apr>")), OFFER),
        case("the same, of which a mapping names the unit", xml_answer(xml("<apr unit=\"percent\">9.5</apr>")), OFFER).mapped("declined = \"response.offers.apr['@unit'] != 'percent'\""),
        case("its text by name", xml_answer(xml("<apr unit=\"percent\">9.5</apr>")), "declined").mapped("declined = \"response.offers.apr['@unit'] == 'percent' and response.offers.apr['#text'] == '9.5'\""),
        case("a flag that is nil, as .NET's serializer writes", xml_answer(xml("<apr>9.5</apr><hold xsi:nil=\"true\"/>")), OFFER).mapped("declined = \"response.offers.hold\""),
        case("a comment of the template before a figure", xml_answer(xml("<apr><!-- in percent -->9.5</apr>")), OFFER),
        case("a comment within it", xml_answer(xml("<apr>9<!-- , -->.5</apr>")), OFFER),
        case("CDATA", xml_answer(xml("<apr><![CDATA[9.5]]></apr>")), OFFER),
        case("Latin-1 that is declared: Orbital, Barclays", xml_answer(latin("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>")), OFFER),
        case("Latin-1 by its content type", answer("content-type: text/xml; charset=\"iso-8859-1\"\r\n", latin("")), OFFER),
        case("Latin-1 that says nothing", xml_answer(latin("")), "the partner must add a `charset` to its `Content-Type`"),
        case("Latin-1 that is called UTF-8", xml_answer(latin("<?xml version='1.0' encoding='UTF-8'?>")), "is not UTF-8"),
        case("UTF-8 that is called Latin-1, as a default of old servers", answer("content-type: text/xml; charset=ISO-8859-1\r\n", xml("<apr>9.5</apr><who>José</who>")), OFFER),
        case("UTF-16 without its mark", xml_answer(utf16(&format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{}", xml(rate)), true)), OFFER),
        case("a byte order mark before the declaration", xml_answer(format!("\u{feff}<?xml version=\"1.0\"?>{}", xml(rate))), OFFER),
        case("an empty line before the declaration, as PHP does", xml_answer(format!("\r\n<?xml version=\"1.0\"?>{}", xml(rate))), OFFER),
        case("a document type that only names itself", xml_answer(format!("<!DOCTYPE r SYSTEM \"quote.dtd\">{}", xml(rate))), OFFER),
        case("entities, which nobody fills in", xml_answer("<!DOCTYPE r [<!ENTITY a \"9.5\">]><r>&a;</r>"), "declares entities, which offerd does not expand"),
        case("an empty answer that is called XML", xml_answer(""), NO_LIST),
        case("UTF-8 that is called ASCII, as a default of Python and Java", answer("content-type: application/json; charset=us-ascii\r\n", r#"{"who":"José"}"#), "declined").mapped("declined = \"response.who == 'José'\""),
        case("UTF-8 that is called Latin-1", answer("content-type: application/json; charset=ISO-8859-1\r\n", r#"{"who":"José"}"#), "declined").mapped("declined = \"response.who == 'José'\""),
        case("UTF-8 that is called windows-1252", answer("content-type: text/xml; charset=windows-1252\r\n", "<r><who>José</who></r>"), "declined").mapped("declined = \"response.who == 'José'\""),
        case("UTF-8 that is called UTF-16: .NET's StringWriter", xml_answer("<?xml version=\"1.0\" encoding=\"utf-16\"?><r><who>José</who></r>"), "declined").mapped("declined = \"response.who == 'José'\""),
        case("a nil that has a unit", xml_answer(xml("<apr>9.5</apr><rate xsi:nil=\"true\" unit=\"percent\"/>")), OFFER).mapped("declined = \"response.offers.rate\""),
        case("gzip that nobody names", json_answer(gzip(JSON.as_bytes())), "is gzip that no \
            `Content-Encoding` names"),
        case("a login page of XHTML", xml_answer("<?xml version=\"1.0\"?><!DOCTYPE \
            html><html><body/></html>"), "with status 200, is not JSON or XML but an HTML page"),
        case("a warning of PHP", json_answer(format!("<br />\n<b>Warning</b>: x\n{JSON}")), "has markup before its JSON"),
        case("a template that writes a figure twice", json_answer(JSON.replace("\"apr\":9.5", "\"apr\":9.5,\"apr\":19.5")), "finds a name that stands twice in one object"),
        case("the same, which no mapping uses", json_answer(JSON.replace("\"apr\"", "\"a\":1,\"a\":2,\"apr\"")), OFFER),
        case("an id that is longer than 64 bits", json_answer("{\"no\":98765432109876543210}"), "finds a whole number that is too long"),
        case("JSONP", json_answer(format!("cb({JSON});")), "is JSONP, a script around JSON"),
        case("JSONP that is called a script, of a partner whose nothing declines", answer("content-type: application/javascript\r\n", format!("/**/cb({JSON})")), "is JSONP, a script around JSON").mapped("empty = \"declines\""),
        case("JSON that is made twice, as ASP.NET's controllers do", json_answer(serde_json::to_string(JSON).unwrap()), "is a text that holds JSON"),
        case("the same, called a text", answer("content-type: text/plain\r\n", serde_json::to_string(JSON).unwrap()), "is a text that holds JSON"),
        case("JSON that ends early", json_answer(&JSON[..20]), "is cut off: its JSON ends at line 1, column 20"),
        case("XML that ends early", xml_answer(&xml(rate)[..90]), "is cut off: its XML ends before"),
        case("XML that ends within a tag", xml_answer("<r><offers"), "is cut off: its XML ends before"),
        case("an entity of HTML", xml_answer("<r>a&nbsp;b</r>"), "has an entity at line 1, column 5 that XML does not define"),
        case("a character that XML forbids", xml_answer("<r>a&#0;</r>"), "`&#0;` at line 1, column 5 to a character"),
        case("a bare ampersand", xml_answer("<r>Smith & Sons</r>"), "has an `&` at line 1, column 10 that begins no entity"),
        case("tags that cross", xml_answer("<r><a></r></a>"), "is not well-formed XML: see line 1"),
    ]
}

/// What is nearly JSON or XML, or holds it.
#[rustfmt::skip]
fn of_odd_bodies() -> Vec<Case> {
    vec![
        case("a length in letters and not in bytes, of Node", json_answer(&r#"{"offers":[{"lender":"Crédit","term":36}]}"#.as_bytes()[..42]), "count its `Content-Length` in bytes"),
        case("a number that no machine holds", json_answer(r#"{"limit":1e400}"#), "has a number at line 1, column"),
        case("lists without end", json_answer("[".repeat(300)), "nests deeper than 127 objects and lists"),
        case("Python's numbers", json_answer(r#"{"apr":NaN}"#), "it has `NaN` at line 1, column 8"),
        case("Python's dictionaries", json_answer("{'apr':9.5}"), "it has single quotes in place of double ones"),
        case("a template with a comma too many", json_answer(r#"{"apr":9.5,}"#), "it has a comma behind the last value"),
        case("a stream of documents", json_answer(format!("{JSON}\n{JSON}")), "has another document behind its JSON, at line 2, column 1"),
        case("Angular's guard", json_answer(format!(")]}}',\n{JSON}")), "has a text before its JSON"),
        case("UTF-32", json_answer(JSON.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect::<Vec<_>>()), "is UTF-32, which offerd does not read"),
        case("two marks", json_answer(format!("\u{feff}\u{feff}{JSON}")), OFFER),
        case("ASMX: JSON in XML", xml_answer(r#"<string xmlns="http://tempuri.org/">{"offers":[]}</string>"#), "is a text that holds JSON"),
        case("a proxy's XML to a partner of JSON", xml_answer("<error><code>42</code></error>"), "the answer is XML, and the request was JSON"),
        case("a text", answer("content-type: text/plain\r\n", "closed"), "the answer is a text, neither JSON nor XML"),
    ]
}

/// `<Bid currency="USD">7</Bid>`, whether or not a mapping names the currency.
#[tokio::test]
async fn a_bid_with_an_attribute_is_its_text() {
    for (bid, declined, price) in [
        ("7", "response.no", Some("7")),
        ("7", "response.Bid['@currency'] == 'EUR'", Some("7")),
        ("7", "response.Bid['@currency'] == 'USD'", None),
        ("7", "response.Bid['@currency'] and response.Bid|float < 5", Some("7")),
        ("7", "response.Bid['@currency'] and response.Bid|int > 5", None),
        ("$7.50", "response.Bid['@currency'] == 'EUR'", Some("$7.50")),
        ("no", "response.Bid['@currency'] == 'EUR'", None),
        ("0", "response.Bid['@currency'] == 'EUR'", None),
    ] {
        let answered = xml_answer(format!("<r><Bid currency=\"USD\">{bid}</Bid></r>"));
        let far = FarSide::start(move |request| match request.head.contains(" /first") {
            true => Deed::Bytes(answered.clone()),
            false => offers(),
        })
        .await;
        let step = |path: &str, keys: &str| {
            let url = far.url(path);
            format!("\n[[products.loan.http.steps]]\nurl = \"{url}\"\nsandbox_url = \"{url}\"\n{keys}\n")
        };
        let keys = format!(
            "bid = \"response.Bid\"\nkeep = {{ price = \"response.Bid\" }}\ndeclined = \"{declined}\""
        );
        let second = "/second?price={{ kept.price }}&form={{ kept.price|urlencode }}";
        let lender = stepped("far", &far, &[step("/first", &keys), step(second, "")].concat());
        let daemon = Daemon::with_partners(vec![lender]).start().await;
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        let received = far.received();
        let posted = received.iter().find_map(|request| request.head.split_once("/second?price="));
        let posted = posted.and_then(|(_, rest)| rest.split('&').next());
        assert_eq!(posted, price, "{bid} {declined}: {}", explained(&daemon, &table));
    }
}

/// A lender at each address of a far side that answers as the cases have it.
fn lenders(cases: &[Case], far: &FarSide) -> Vec<PartnerFile> {
    let lender = |(nth, case): (usize, &Case)| {
        let lender = far_lender(&format!("far_{nth}"), &far.url(&format!("/{nth}")), "");
        lender.replaced("declined = \"response.no\"", case.mapping)
    };
    cases.iter().enumerate().map(lender).collect()
}

/// A far side that answers a path `/N` as the case N has it.
async fn answering(cases: &[Case]) -> FarSide {
    let answers: Vec<Vec<u8>> = cases.iter().map(|case| case.answer.clone()).collect();
    FarSide::start(move |request| {
        let path = request.head.split_whitespace().nth(1).unwrap_or_default();
        Deed::Bytes(answers[path.trim_start_matches('/').parse::<usize>().unwrap()].clone())
    })
    .await
}

fn shown(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), output.stderr.as_slice()].concat()).unwrap()
}

/// Sends the sample lead to each partner and collects what is not said that is wanted.
async fn tried(partners: Vec<PartnerFile>, wanted: Vec<(String, &'static str, &'static str)>) {
    let wrong = tokio::task::spawn_blocking(move || {
        let plan = Daemon::with_partners(partners);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), sample("personal_loan")).unwrap();
        let wrong = wanted.into_iter().filter_map(|(key, seen, wanted)| {
            let arguments = ["partners", "try", &key, file.path().to_str().unwrap(), "--send"];
            let said = shown(&plan.command(&arguments).output().unwrap());
            (!said.contains(wanted)).then(|| format!("{key}, {seen}: `{wanted}` is not in {said}"))
        });
        wrong.collect::<Vec<_>>()
    });
    let wrong = wrong.await.unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn assert_read(cases: Vec<Case>) {
    let far = answering(&cases).await;
    let wanted = cases.iter().enumerate();
    let wanted = wanted.map(|(nth, case)| (format!("far_{nth}"), case.seen, case.wanted)).collect();
    tried(lenders(&cases, &far), wanted).await;
}

#[tokio::test]
async fn answers_are_read_as_http_allows_them() {
    assert_read(of_http()).await;
}

#[tokio::test]
async fn what_is_no_http_or_no_answer_has_its_own_cause() {
    assert_read(of_broken_http()).await;
}

#[tokio::test]
async fn an_error_is_no_decline() {
    assert_read(of_declines()).await;
}

#[tokio::test]
async fn bodies_are_read_as_json_and_xml_allow_them() {
    assert_read(of_bodies()).await;
}

#[tokio::test]
async fn what_is_nearly_json_or_xml_has_its_own_cause() {
    assert_read(of_odd_bodies()).await;
}

/// What `partners try` says of an answer, `offerd explain` says too.
#[tokio::test]
async fn a_live_table_has_their_offers_and_explains_the_rest() {
    let cases = [of_http(), of_declines(), of_broken_http(), of_bodies(), of_odd_bodies()];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    let far = answering(&cases).await;
    let daemon = Daemon::with_partners(lenders(&cases, &far)).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let offering = |nth: usize| {
        let key = format!("far_{nth}");
        let offers = table["loanOffers"].as_array().unwrap();
        offers.iter().any(|offer| offer["originator"]["key"] == key.as_str())
    };
    let explained = explained(&daemon, &table);
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    for (nth, Case { seen, wanted, .. }) in cases.iter().enumerate() {
        assert_eq!(offering(nth), *wanted == OFFER, "{seen}: {explained}");
        let is_cause = *wanted != OFFER && !wanted.starts_with("declined");
        assert!(!is_cause || words.contains(wanted), "{seen}: {wanted} is not in {explained}");
    }
}

#[tokio::test]
async fn each_request_says_who_asks_unless_the_file_does() {
    let far = FarSide::start(|_| offers()).await;
    let named = "headers = { User-Agent = \"'lender-bridge/2'\" }";
    let partners =
        vec![far_lender("plain", &far.url("/plain"), ""), far_lender("named", &far.url("/named"), named)];
    let daemon = Daemon::with_partners(partners).start().await;
    daemon.submit_blocking(sample("personal_loan")).await;
    let agent = |path: &str| {
        let received = far.received();
        received.iter().find(|request| request.head.contains(path)).unwrap().header("user-agent")
    };
    assert_eq!(agent("/plain"), concat!("offerd/", env!("CARGO_PKG_VERSION")));
    assert_eq!(agent("/named"), "lender-bridge/2");
}

/// A name in which a phone has left control characters goes into XML without them, which has no way to say them.
#[tokio::test]
async fn control_characters_of_a_lead_are_left_out_of_xml() {
    let far = FarSide::start(|_| Deed::Bytes(xml_answer(xml("<apr>9.5</apr>")))).await;
    let json = "json = { amount = \"lead.loanInformation.loanAmount\", ssn = \"lead.personalInformation.ssn\", id = \"lead_uuid\" }";
    let lender = far_lender("far", &far.url("/"), "")
        .replaced(
            json,
            "xml = \"<q><i>{{ lead.clientTags.note[0] }}</i><e>{{ lead.clientTags.note[0]|e }}</e></q>\"",
        )
        .replaced("declined", "offers = \"response.offers\", declined");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let mut lead: Value = serde_json::from_str(&sample("personal_loan")).unwrap();
    lead["clientTags"] = json!({"note": ["a\u{1}\u{b}&\u{ffff}b"]});
    let table = daemon.submit_blocking(lead.to_string()).await.json();
    let received = far.received();
    assert_eq!(received.len(), 1, "{table} {}", daemon.log());
    assert_eq!(received[0].body, "<q><i>a&amp;b</i><e>a&amp;b</e></q>");
}

/// A token answer, and what `partners try` says then.
#[rustfmt::skip]
fn of_oauth() -> Vec<(&'static str, u16, &'static str, &'static str)> {
    vec![
        ("Outlook, Salesforce: seconds as a text", 200, r#"{"access_token":"t","expires_in":"3599"}"#, OFFER),
        ("seconds as a number with a fraction", 200, r#"{"access_token":"t","expires_in":3599.0}"#, OFFER),
        ("no life at all", 200, r#"{"access_token":"t","expires_in":null,"token_type":"bearer"}"#, OFFER),
        ("a life that is nobody's", 200, r#"{"access_token":"t","expires_in":"soon"}"#, OFFER),
        ("a byte order mark", 200, "\u{feff}{\"access_token\":\"t\"}", OFFER),
        (
            "an error with status 200",
            200,
            r#"{"error":"invalid_client"}"#,
            "has no access_token, invalid_client: `client_id` or `client_secret` is wrong, or the server \
                wants them sent another way; see `client_auth`",
        ),
        (
            "bshaffer's server wants HTTP basic",
            401,
            r#"{"error":"invalid_client"}"#,
            "has status 401, invalid_client",
        ),
        (
            "a scope that nobody granted",
            400,
            r#"{"error":"invalid_scope"}"#,
            "has status 400, invalid_scope: check `scope`",
        ),
        ("an error in other words", 400, r#"{"errorCode":"Maren"}"#, "the token answer has status 400"),
        ("a page of a proxy", 200, "<html></html>", "the token answer is no JSON object: it is an HTML \
            page; check `token_url`"),
        ("a page of a proxy that has failed", 502, "<!DOCTYPE html><html></html>", "the token answer has \
            status 502: it is an HTML page"),
        ("a token server that has moved", 302, "", "the token answer has status 302: it is a redirect, \
            which offerd does not follow"),
        ("Apigee's word for a bearer", 200, r#"{"access_token":"t","token_type":"BearerToken"}"#, OFFER),
        ("capitals, and a blank type", 200, r#"{"access_token":"t","token_type":"BEARER"}"#, OFFER),
        ("a token that is to be signed with", 200, r#"{"access_token":"t","token_type":"DPoP"}"#, "has a token_type other than Bearer, which is how it would be sent"),
        ("a token that is not filled in", 200, r#"{"access_token":"","token_type":"Bearer"}"#, "has an empty access_token"),
        ("a token that a program has put together", 200, r#"{"access_token":"Bearer t\n"}"#, OFFER),
        ("JavaScript's word for nothing", 200, r#"{"access_token":"undefined"}"#, "has an access_token that is a word for nothing"),
        ("a key that is cut in lines", 200, r#"{"access_token":"a\nb"}"#, "has an access_token with blanks, line ends"),
        ("a gateway's own name", 200, r#"{"accessToken":"t"}"#, "fetch it by one of `steps`"),
        ("Azure's word for a bearer", 200, r#"{"access_token":"t","token_type":"jwt-bearer"}"#, OFFER),
        ("a token in an object", 200, r#"{"access_token":{"value":"t"}}"#, "has an access_token that is not \
            text"),
        ("an error beside an empty token", 200, r#"{"access_token":"","error":"invalid_scope"}"#, "has an empty access_token, invalid_scope: check `scope`"),
        ("an error of a vendor's own", 403, r#"{"error":"maren_blocked"}"#, "has status 403, with an `error` that RFC 6749 does not define"),
    ]
}

fn with_token(nth: usize, far: &FarSide, more: &str) -> PartnerFile {
    let auth = format!(
        "auth = {{ oauth2 = {{ token_url = \"{}\", client_id = \"'us'\", client_secret = \"'s:3\u{fc}'\"{more} }} }}",
        far.url(&format!("/token/{nth}"))
    );
    far_lender(&format!("token_{nth}"), &far.url("/quote"), &auth)
}

#[tokio::test]
async fn token_answers_are_read_as_servers_write_them() {
    let far = FarSide::start(|request| {
        let path = request.head.split_whitespace().nth(1).unwrap_or_default();
        match path.strip_prefix("/token/") {
            Some(nth) => {
                let (_, status, body, _) = of_oauth()[nth.parse::<usize>().unwrap()];
                Deed::Json(status, body.to_owned())
            }
            None => Deed::Json(200, JSON.to_owned()),
        }
    })
    .await;
    let partners = (0..of_oauth().len()).map(|nth| with_token(nth, &far, "")).collect();
    let wanted = of_oauth().into_iter().enumerate();
    tried(partners, wanted.map(|(nth, (seen, _, _, said))| (format!("token_{nth}"), seen, said)).collect())
        .await;
}

/// RFC 6749, 2.3.1: servers must take it, and may take nothing else; id and secret are encoded as in a form first.
#[tokio::test]
async fn a_client_shows_itself_by_http_basic_where_the_file_says_so() {
    let far = FarSide::start(|request| match request.head.starts_with("POST /token") {
        true => Deed::Json(200, json!({"access_token": "t"}).to_string()),
        false => offers(),
    })
    .await;
    let secret = secret_file("s:3\u{fc} ret");
    let lender =
        with_token(0, &far, ", client_auth = \"basic\"").replaced("\"'s:3\u{fc}'\"", "\"secret.key\"");
    let lender =
        lender.replaced("auth =", &format!("secrets = {{ key = {{ file = \"{secret}\" }} }}\nauth ="));
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{}", daemon.log());
    let received = far.received();
    let token = received.iter().find(|request| request.head.starts_with("POST /token")).unwrap();
    assert_eq!(token.body, "grant_type=client_credentials");
    // us:s%3A3%C3%BC+ret
    assert_eq!(token.header("authorization"), "Basic dXM6cyUzQTMlQzMlQkMrcmV0");
}

/// Tokens of Salesforce sandboxes and of some banks live for seconds.
#[tokio::test]
async fn a_token_that_lives_shortly_is_not_fetched_for_every_ask() {
    let granted = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = granted.clone();
    let far = FarSide::start(move |request| match request.head.starts_with("POST /token") {
        true => {
            counted.fetch_add(1, Ordering::SeqCst);
            Deed::Json(200, json!({"access_token": "t", "expires_in": 20}).to_string())
        }
        false => offers(),
    })
    .await;
    let daemon = Daemon::with_partners(vec![with_token(0, &far, "")]).start().await;
    for _ in 0..4 {
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(2), "{}", daemon.log());
    }
    assert_eq!(granted.load(Ordering::SeqCst), 1);
}

#[test]
fn headers_that_would_break_every_answer_are_refused_when_the_file_is_checked() {
    let connection = "leave it out; `wire` controls the connection";
    for (name, advice) in [
        ("Accept-Encoding", "leave it out; `wire = { gzip = true }` asks for compressed answers"),
        ("content-length", "leave it out; offerd derives it from the body"),
        ("Transfer-Encoding", "leave it out; offerd derives it from the body"),
        ("Content-Encoding", "leave it out; offerd never compresses the body"),
        ("Host", "leave it out; offerd derives it from `url`"),
        ("Connection", connection),
        ("Keep-Alive", connection),
        ("Upgrade", connection),
        ("TE", connection),
        ("Trailer", connection),
        ("Expect", "leave it out; offerd sends the body at once and awaits no `100 Continue`"),
        ("Range", "leave it out; offerd cannot read a partial answer"),
        ("If-None-Match", "leave it out; offerd keeps no answers that a status 304 could refer to"),
        ("If-Modified-Since", "leave it out; offerd keeps no answers that a status 304 could refer to"),
        ("HTTP2-Settings", connection),
        ("Early-Data", "leave it out; offerd sends nothing before TLS is ready"),
        ("Content-Range", "leave it out; offerd always sends the whole body"),
        ("A-IM", "leave it out; offerd cannot read a partial answer"),
        ("Proxy-Authorization", "leave it out; offerd calls partners without a proxy"),
        ("Proxy-Connection", "leave it out; offerd calls partners without a proxy"),
    ] {
        let headers = format!("headers = {{ {name} = \"'gzip'\" }}");
        let plan = Daemon::with_partners(vec![far_lender("far", "https://far.example/", &headers)]);
        let output = plan.command(&["check"]).output().unwrap();
        let said = shown(&output);
        assert!(!output.status.success() && said.contains(advice) && said.contains(name), "{said}");
    }
}
