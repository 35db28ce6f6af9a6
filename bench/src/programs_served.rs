//! The server: what is made and claimed over HTTP a second, how soon events come, how soon a page, and what it costs while nothing happens.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::corpus;
use crate::options::Options;
use crate::ours::{self, LibraryClaimer, LibraryCreator};
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, tell};
use crate::worker::Creator as _;

/// Over how many connections at once.
const CONNECTIONS: usize = 64;
/// How many listen.
const STREAMS: usize = 1_000;
/// How soon all of them have to be told of a change, in milliseconds.
const TOLD: f64 = 100.0;
/// So many tasks the list has whose first page is asked for.
const LONG: usize = 10_000;
/// How much longer that may take than the same list as JSON.
const PAGE: f64 = 3.0;
/// How much of one core a server may take while nothing happens: 0.1 %.
const IDLE: f64 = 0.001;
/// What begins with the start has ended after this.
const SETTLED: Duration = Duration::from_secs(3);

/// Measures the server.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (calls, seconds) = if options.scale.starts < 100 { (400, 10) } else { (2_000, 60) };
    tell(&format!("{}: {calls} requests over 1 and over {CONNECTIONS} connections", place.name));
    let mut rows = creating(options, place, calls)?;
    rows.extend(claiming(options, place, calls)?);
    rows.push(telling(options, place)?);
    rows.push(showing(options, place)?);
    rows.push(idle(options, place, seconds)?);
    Ok(rows)
}

fn information(measure: &str, place: &Place, ours: f64, library: f64) -> Row {
    Row {
        measure: measure.to_owned(),
        place: place.name,
        ours: format!("{ours:.0} /s"),
        limit: Some(format!("{library:.0} /s")),
        node: None,
        target: Target::Information(format!("{:.2} x the library", library / ours)),
    }
}

/// Measures new tasks a second, next to those of the library in one process.
fn creating(options: &Options, place: &Place, calls: usize) -> Result<Vec<Row>, Failure> {
    let home = place.fresh_home()?;
    let mut creator = LibraryCreator::open(&home)?;
    let began = Instant::now();
    for _ in 0..calls {
        creator.create()?;
    }
    let library = calls as f64 / began.elapsed().as_secs_f64();
    let create = |caller: &mut Caller, number: usize| {
        let task = json!({"subject": corpus::subject(number), "description": corpus::DESCRIPTION});
        caller.post("/tasks", &task).map(drop)
    };
    let mut rows = Vec::new();
    for connections in [1, CONNECTIONS] {
        let server = Server::start(options, &place.fresh_home()?)?;
        let rate = server.rate(connections, calls, create)?;
        rows.push(information(&format!("API: create, {connections} connections"), place, rate, library));
    }
    Ok(rows)
}

/// Measures tasks claimed and completed a second, next to the library in one process.
fn claiming(options: &Options, place: &Place, calls: usize) -> Result<Vec<Row>, Failure> {
    let filled = || -> Result<Home, Failure> {
        let home = place.fresh_home()?;
        corpus::fill_with_new(&home.list(), calls + CONNECTIONS)?;
        ours::get_to_know(&home, calls + CONNECTIONS)?;
        Ok(home)
    };
    let claimer = LibraryClaimer::open(&filled()?)?;
    let began = Instant::now();
    for _ in 0..calls {
        claimer.take_and_finish()?;
    }
    let library = calls as f64 / began.elapsed().as_secs_f64();
    let take = |caller: &mut Caller, _: usize| {
        let claimed = caller.post("/claim-next", &json!({}))?;
        let (id, token) = (claimed["task"]["id"].as_str().ok_or_else(|| claimed.to_string())?, &claimed["token"]);
        caller.post(&format!("/tasks/{id}/done"), &json!({ "token": token })).map(drop)
    };
    let mut rows = Vec::new();
    for connections in [1, CONNECTIONS] {
        let server = Server::start(options, &filled()?)?;
        let rate = server.rate(connections, calls, take)?;
        rows.push(information(&format!("API: claim-next and done, {connections} connections"), place, rate, library));
    }
    Ok(rows)
}

/// Measures how long it takes from a change until a thousand streams have been told of it.
fn telling(options: &Options, place: &Place) -> Result<Row, Failure> {
    tell(&format!("{}: {STREAMS} streams of events", place.name));
    let home = place.fresh_home()?;
    corpus::fill_with_new(&home.list(), 100)?;
    let server = Server::start(options, &home)?;
    let mut caller = server.caller("writer")?;
    let (told, heard) = std::sync::mpsc::channel();
    for number in 0..STREAMS {
        let mut stream = server.caller(&format!("stream-{number}"))?;
        stream.listen()?;
        let told = told.clone();
        let reading = move || while stream.next_commit().is_ok() && told.send(Instant::now()).is_ok() {};
        thread::Builder::new().stack_size(64 * 1024).spawn(reading)?;
    }
    sleep(SETTLED);
    let mut spans = Vec::new();
    for number in 0..20 {
        let began = Instant::now();
        caller.post("/tasks", &json!({"subject": corpus::subject(number)}))?;
        let mut last = began;
        for _ in 0..STREAMS {
            last = last.max(heard.recv_timeout(Duration::from_secs(30))?);
        }
        spans.push(last.duration_since(began));
    }
    let spans = Samples::microseconds(&spans);
    Ok(Row {
        measure: format!("API: from a request to its event on {STREAMS} streams"),
        place: place.name,
        ours: crate::table::milliseconds(&spans),
        limit: None,
        node: None,
        target: Target::AtMost { milliseconds: spans.p95() / 1e3, target: TOLD },
    })
}

/// Measures the first page of a long list next to the same list as JSON.
fn showing(options: &Options, place: &Place) -> Result<Row, Failure> {
    tell(&format!("{}: the first page of {LONG} tasks", place.name));
    let home = place.fresh_home()?;
    corpus::fill_with_new(&home.list(), LONG)?;
    ours::get_to_know(&home, LONG)?;
    let server = Server::start(options, &home)?;
    let mut caller = server.caller("reader")?;
    let (page, json) = (format!("/lists/{}", Home::LIST), format!("/api/v1/lists/{}/tasks", Home::LIST));
    let (mut pages, mut lists) = (Vec::new(), Vec::new());
    // Turn by turn, so that whatever else the machine does meets both; the first of each finds out what the others know.
    for number in 0..21 {
        let (shown, listed) = (caller.time_of(&page)?, caller.time_of(&json)?);
        if number > 0 {
            pages.push(shown);
            lists.push(listed);
        }
    }
    let (pages, lists) = (Samples::microseconds(&pages), Samples::microseconds(&lists));
    Ok(Row {
        measure: format!("page of {LONG} tasks, not the list as JSON"),
        place: place.name,
        ours: crate::table::milliseconds(&pages),
        limit: Some(crate::table::milliseconds(&lists)),
        node: None,
        target: Target::AtMostTimesTheLimit { ratio: pages.median() / lists.median(), target: PAGE },
    })
}

/// Measures the processor time of a server while nothing happens and one browser listens.
fn idle(options: &Options, place: &Place, seconds: u64) -> Result<Row, Failure> {
    tell(&format!("{}: an idle server for {seconds} s", place.name));
    let home = place.fresh_home()?;
    corpus::fill_with_new(&home.list(), 1_000)?;
    let server = Server::start(options, &home)?;
    let mut stream = server.caller("idle")?;
    stream.listen()?;
    sleep(SETTLED);
    let before = server.processor_time()?;
    sleep(Duration::from_secs(seconds));
    let computed = server.processor_time()? - before;
    Ok(Row {
        measure: format!("serve, idle for {seconds} s with one stream"),
        place: place.name,
        ours: format!("{computed:.0} ms"),
        limit: None,
        node: None,
        target: Target::AtMost { milliseconds: computed, target: seconds as f64 * 1e3 * IDLE },
    })
}

/// A running server.
struct Server {
    process: Child,
    address: Arc<str>,
    token: Arc<str>,
}

impl Server {
    fn start(options: &Options, home: &Home) -> Result<Self, Failure> {
        let mut command = ours::command(&options.programs, home);
        command.args(["serve", "--port", "0", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().ok_or("no pipe")?).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line)?;
        let token = fs::read_to_string(told["tokenFile"].as_str().ok_or("no token")?)?;
        let address = told["url"].as_str().and_then(|url| url.strip_prefix("http://")).ok_or("no address")?;
        Ok(Self { process, address: address.into(), token: token.trim().into() })
    }

    fn caller(&self, agent: &str) -> Result<Caller, Failure> {
        let stream = TcpStream::connect(&*self.address)?;
        stream.set_nodelay(true)?;
        let (address, token) = (Arc::clone(&self.address), Arc::clone(&self.token));
        Ok(Caller { stream: BufReader::new(stream), address, token, agent: agent.to_owned() })
    }

    /// Makes calls over connections, each as fast as it can, and returns how many were made a second.
    fn rate(
        &self,
        connections: usize,
        calls: usize,
        call: impl Fn(&mut Caller, usize) -> Result<(), Failure> + Copy + Send + Sync,
    ) -> Result<f64, Failure> {
        let mut callers: Vec<Caller> =
            (0..connections).map(|number| self.caller(&format!("bench-{number}"))).collect::<Result<_, _>>()?;
        let each = calls / connections;
        let began = Instant::now();
        thread::scope(|scope| {
            let work = |caller: &mut Caller| {
                (0..each).try_for_each(|number| call(caller, number)).map_err(|failure| failure.to_string())
            };
            let threads: Vec<_> = callers.iter_mut().map(|caller| scope.spawn(move || work(caller))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a caller panicked".to_owned())?)
        })?;
        Ok((each * connections) as f64 / began.elapsed().as_secs_f64())
    }

    /// Returns for how many milliseconds the process has computed, its threads that have ended included.
    fn processor_time(&self) -> Result<f64, Failure> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("no fields")?.1.split(' ').collect();
        // In user and in system mode, in hundredths of a second.
        let ticks: f64 = [11, 12].iter().map(|at| fields[*at].parse::<f64>().unwrap_or_default()).sum();
        Ok(ticks * 10.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection.
struct Caller {
    stream: BufReader<TcpStream>,
    address: Arc<str>,
    token: Arc<str>,
    agent: String,
}

impl Caller {
    fn post(&mut self, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = body.to_string();
        let length = body.len();
        self.send("POST", path, &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"))?;
        let (status, length) = self.head()?;
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = serde_json::from_slice(&answer)?;
        if status < 300 { Ok(answer) } else { Err(format!("{path}: {status}: {answer}").into()) }
    }

    /// Asks for something, and returns how long it took until all of the answer was there.
    fn time_of(&mut self, path: &str) -> Result<Duration, Failure> {
        let began = Instant::now();
        self.send_to("GET", path, "\r\n")?;
        let (status, length) = self.head()?;
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        if status == 200 && length > 0 { Ok(began.elapsed()) } else { Err(format!("{path}: {status}").into()) }
    }

    fn listen(&mut self) -> Result<(), Failure> {
        self.send("GET", "/events", "\r\n")?;
        match self.head()? {
            (200, _) => Ok(()),
            (status, _) => Err(format!("/events: {status}").into()),
        }
    }

    /// Waits until a commit is told.
    fn next_commit(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        while !line.starts_with("event: commit") {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the stream ended".into());
            }
        }
        Ok(())
    }

    fn send(&mut self, method: &str, path: &str, rest: &str) -> Result<(), Failure> {
        self.send_to(method, &format!("/api/v1/lists/{}{path}", Home::LIST), rest)
    }

    fn send_to(&mut self, method: &str, path: &str, rest: &str) -> Result<(), Failure> {
        let Self { address, token, agent, .. } = self;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Taskyard-Agent: {agent}\r\n{rest}"
        );
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// Returns the status of an answer and the length of its body.
    fn head(&mut self) -> Result<(u16, usize), Failure> {
        let (mut status, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end();
            match line.split_once(": ") {
                _ if status.is_none() => status = Some(line.split(' ').nth(1).ok_or("no status")?.parse()?),
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
                None if line.is_empty() => return Ok((status.ok_or("no status")?, length)),
                _ => {}
            }
        }
    }
}
