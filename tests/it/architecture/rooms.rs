//! Within a room few files import each other in a circle, and no two rooms of a crate do. A room is a crate of one room, or a module at
//! the top of a crate of several, its own file aside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Crates of several rooms; the others are a room each. The last is the top of `src`.
const OF_ROOMS: [&str; 5] = ["base", "engine", "insight", "outbound", "src"];

/// The most files of a room that may import each other in a circle.
const LOOP_MAX: usize = 4;

/// A module by the names on its path, that of its crate first.
type Module = Vec<String>;

/// The files of a room, and for each whom it imports.
type Room = BTreeMap<String, BTreeSet<String>>;

#[test]
fn within_a_room_few_files_import_in_circles() {
    let mut wrong = Vec::new();
    for (name, room) in rooms(&modules()) {
        for circle in circles(&room).iter().filter(|circle| circle.len() > LOOP_MAX) {
            wrong.push(told(&name, circle, &room));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The circle, the imports that make it one, and what to do.
fn told(name: &str, circle: &BTreeSet<String>, room: &Room) -> String {
    let edges = circle.iter().flat_map(|file| {
        let named = room[file].intersection(circle).cloned().collect::<Vec<_>>();
        [format!("    {file} imports {}", named.join(", "))]
    });
    format!(
        "src/{name}: {} files import each other in a circle, at most {LOOP_MAX} may: move what several of them share down into a file \
         that imports none of them\n{}",
        circle.len(),
        edges.collect::<Vec<_>>().join("\n")
    )
}

#[test]
fn rooms_of_a_crate_import_in_no_circle() {
    let mut crates: BTreeMap<String, Room> = BTreeMap::new();
    for (module, imported) in modules() {
        if let (true, [name, room, ..]) = (OF_ROOMS.contains(&&*module[0]), module.as_slice()) {
            let others = imported.iter().filter_map(|other| other.get(1)).filter(|other| *other != room);
            let rooms = crates.entry(name.clone()).or_default();
            rooms.entry(room.clone()).or_default().extend(others.cloned());
        }
    }
    let wrong = crates
        .iter()
        .flat_map(|(name, rooms)| circles(rooms).into_iter().map(move |circle| told(name, &circle, rooms)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(crates.len(), OF_ROOMS.len(), "each is looked at");
}

/// Every module of `src` with what it imports of its crate.
fn modules() -> BTreeMap<Module, BTreeSet<Module>> {
    let mut files = BTreeMap::new();
    for path in super::files().into_iter().filter(|path| !super::is_of_tests(path)) {
        let within = super::crate_of(&path);
        let inside = path.strip_prefix(within).unwrap();
        let name = within.file_name().unwrap();
        let mut module: Module =
            [name].into_iter().chain(inside.iter()).map(|part| part.to_string_lossy().into_owned()).collect();
        let file = module.pop().expect("a file has a name");
        module.extend(
            (!["mod.rs", "lib.rs"].contains(&&*file)).then(|| file.trim_end_matches(".rs").to_owned()),
        );
        files.insert(module, fs::read_to_string(path).unwrap());
    }
    let known: BTreeSet<Module> = files.keys().cloned().collect();
    files.into_iter().map(|(module, text)| (module.clone(), imported(&module, &text, &known))).collect()
}

/// The modules that a file imports, but for its tests.
fn imported(module: &Module, text: &str, known: &BTreeSet<Module>) -> BTreeSet<Module> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = super::code(text).collect();
    let mut found = BTreeSet::new();
    for (nth, line) in code.iter().enumerate() {
        let unscoped =
            line.strip_prefix("pub").map_or(*line, |rest| rest.trim_start_matches(|at| at != ' ').trim());
        let is_of_tests = nth > 0 && code[nth - 1] == "#[cfg(test)]";
        if let Some(begun) = unscoped.strip_prefix("use ").filter(|_| !is_of_tests) {
            let statement = [begun].into_iter().chain(code[nth + 1..].iter().copied()).collect::<String>();
            let tree = statement.split(';').next().unwrap_or_default();
            found.extend(unfolded(tree).iter().filter_map(|path| resolved(path, module, known)));
        }
    }
    found
}

/// The paths of a tree of imports, without braces.
fn unfolded(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.trim().strip_suffix('}').and_then(|tree| tree.split_once('{')) else {
        return vec![tree.trim().to_owned()];
    };
    let (mut depth, mut branches) = (0, vec![String::new()]);
    for letter in inside.chars() {
        match letter {
            ',' if depth == 0 => branches.push(String::new()),
            _ => branches.last_mut().expect("there is one from the beginning").push(letter),
        }
        depth += i32::from(letter == '{') - i32::from(letter == '}');
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| unfolded(&format!("{before}{}", branch.trim()))).collect()
}

/// The module of ours that a path leads to or into.
fn resolved(path: &str, module: &Module, known: &BTreeSet<Module>) -> Option<Module> {
    let mut parts = path.split("::").map(|part| part.split(' ').next().unwrap_or_default()).peekable();
    let mut at = module.clone();
    match *parts.peek()? {
        "crate" => at.truncate(1),
        "self" | "super" => {}
        child if known.contains(&[module.as_slice(), &[child.to_owned()]].concat()) => {}
        _ => return None,
    }
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            part => at.push(part.to_owned()),
        }
    }
    while at.len() > 1 && !known.contains(&at) {
        at.pop();
    }
    Some(at)
}

/// Every room with the imports among the files below it.
fn rooms(modules: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<String, Room> {
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    for (module, imported) in modules {
        let depth = if OF_ROOMS.contains(&&*module[0]) { 2 } else { 1 };
        if module.len() > depth {
            let named =
                imported.iter().filter(|other| other.len() > depth && other[..depth] == module[..depth]);
            let others = named.filter(|other| *other != module).map(|other| other[depth..].join("/"));
            let room = rooms.entry(module[..depth].join("/")).or_default();
            room.entry(module[depth..].join("/")).or_default().extend(others);
        }
    }
    rooms
}

/// Sets of files of which each reaches each other one by imports.
fn circles(room: &Room) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        room.keys().map(|file| (file, reached_from(file, room))).collect();
    let circle = |file: &String| -> BTreeSet<String> {
        let back = |other: &&&String| reached.get(**other).is_some_and(|from| from.contains(file));
        reached[file].iter().filter(back).map(|other| (*other).clone()).collect()
    };
    room.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn reached_from<'a>(file: &'a String, room: &'a Room) -> BTreeSet<&'a String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        let named = room.get(file).into_iter().flatten();
        open.extend(named.filter(|other| reached.insert(*other)));
    }
    reached
}

/// The rule would hold of anything if imports were not read.
#[test]
fn circles_are_seen_through_trees_of_imports_and_directories() {
    let files = [
        ("room::a", "use super::{b::{self, B}, far::near::Near as N};"),
        ("room::b", "pub(super) use crate::c;\n#[cfg(test)]\nmod tests {\nuse super::super::d;"),
        ("room::c", "use std::io;\nuse super::\n    a::A;"),
        ("room::d", "#[cfg(test)]\nuse super::a;\n// use super::b;"),
        ("room::far", "mod near;\nuse near::Near;"),
        ("room::far::near", "use super::super::b;"),
    ];
    let module = |path: &str| -> Module { path.split("::").map(str::to_owned).collect() };
    let known: BTreeSet<Module> = files.iter().map(|(path, _)| module(path)).collect();
    let modules =
        files.iter().map(|(path, text)| (module(path), imported(&module(path), text, &known))).collect();
    let rooms = rooms(&modules);
    let circle: BTreeSet<String> = ["a", "b", "c", "far/near"].map(str::to_owned).into();
    assert_eq!(circles(&rooms["room"]), [circle].into());
    assert_eq!(rooms["room"]["far"], ["far/near".to_owned()].into());
    assert!(rooms["room"]["d"].is_empty());
}
