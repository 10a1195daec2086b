//! Reads and sets values in a scenario's text by key, such as `link.wifi.rate`, and keeps the rest unchanged.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// Sets each key of a scenario's text to a TOML value, or removes it if there is none. Creates tables that do
/// not exist. Setting the `name` of a list's item creates it, and its own key removes it.
pub(crate) fn edit(text: &str, values: &[(String, Option<String>)]) -> Result<String, String> {
    let mut document = parse(text)?;
    for (key, value) in values {
        let parts: Vec<_> = key.split('.').collect();
        match value {
            Some(value) => set(document.as_table_mut(), key, &parts, value)?,
            None => remove(document.as_table_mut(), &parts),
        }
    }
    Ok(document.to_string())
}

fn set(root: &mut Table, key: &str, parts: &[&str], value: &str) -> Result<(), String> {
    let new: Value = value.parse().map_err(|_| format!("{key}: {value} is not a TOML value"))?;
    let (last, parents) = parts.split_last().ok_or("a key is empty")?;
    if let (["name"], [list, name]) = ([*last].as_slice(), parents) {
        add_item(root, list, name);
    }
    let table =
        enter(root, parents).ok_or_else(|| format!("{key}: the scenario has no such table or list item"))?;
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(last, Item::Value(new))),
    }
    Ok(())
}

/// Appends an item to a list of tables unless it has one of that name.
fn add_item(root: &mut Table, list: &str, name: &str) {
    if let Some(Item::ArrayOfTables(items)) = root.get_mut(list)
        && !items.iter().any(|item| is_named(item, name))
    {
        let mut item = Table::new();
        item.insert("name", Item::Value(name.into()));
        items.push(item);
    }
}

/// Removes the value or list item at a key, if there is one.
fn remove(root: &mut Table, parts: &[&str]) {
    let Some((last, parents)) = parts.split_last() else { return };
    if let [list] = parents
        && let Some(Item::ArrayOfTables(items)) = root.get_mut(list)
    {
        items.retain(|item| !is_named(item, last));
    } else if find(root, parts).is_some()
        && let Some(table) = enter(root, parents)
    {
        table.remove(last);
    }
}

/// Returns the value of each key as TOML; `None` if the text does not have the key.
pub(crate) fn read(text: &str, keys: &[String]) -> Result<Vec<Option<String>>, String> {
    let document = parse(text)?;
    let read = |key: &String| {
        let parts: Vec<_> = key.split('.').collect();
        let value = find(document.as_table(), &parts)?.as_value()?;
        Some(value.clone().decorated("", "").to_string())
    };
    Ok(keys.iter().map(read).collect())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|e: toml_edit::TomlError| e.to_string())
}

/// Returns whether items of a list are found by their name, as `--set` does.
fn is_named(table: &Table, name: &str) -> bool {
    table.get("name").and_then(Item::as_str) == Some(name)
}

/// Returns the table at a key.
fn enter<'t>(table: &'t mut dyn TableLike, parts: &[&str]) -> Option<&'t mut dyn TableLike> {
    let Some((first, rest)) = parts.split_first() else { return Some(table) };
    if !table.contains_key(first) {
        let mut new = Table::new();
        // No header of its own unless it has values.
        new.set_implicit(true);
        table.insert(first, Item::Table(new));
    }
    match table.get_mut(first)? {
        Item::ArrayOfTables(items) => {
            let (name, rest) = rest.split_first()?;
            enter(items.iter_mut().find(|item| is_named(item, name))?, rest)
        }
        item => enter(item.as_table_like_mut()?, rest),
    }
}

/// Returns the item at a key.
fn find<'t>(table: &'t dyn TableLike, parts: &[&str]) -> Option<&'t Item> {
    let (first, rest) = parts.split_first()?;
    match table.get(first)? {
        item if rest.is_empty() => Some(item),
        Item::ArrayOfTables(items) => {
            let (name, rest) = rest.split_first()?;
            find(items.iter().find(|item| is_named(item, name))?, rest)
        }
        item => find(item.as_table_like()?, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A comment.\nname = \"x\"\n\n[[link]]\nname = \"wifi\"\nrate = \"20Mbps\" # much\n\n\
                        [[link]]\nname = \"lte\"\nqueue = { packets = 5 }\n";

    fn edited(key: &str, value: &str) -> Result<String, String> {
        edit(TEXT, &[(key.to_owned(), Some(value.to_owned()))])
    }

    fn without(key: &str) -> String {
        edit(TEXT, &[(key.to_owned(), None)]).expect("a removal")
    }

    #[test]
    fn a_value_is_replaced_and_its_comment_stays() {
        let text = edited("link.wifi.rate", "\"5Mbps\"").expect("a key that exists");
        assert_eq!(text, TEXT.replace("\"20Mbps\"", "\"5Mbps\""));
    }

    #[test]
    fn tables_and_keys_are_created() {
        let text = edited("sctp.server.handover_policy", "\"inherit\"").expect("a new table");
        assert!(text.ends_with("[sctp.server]\nhandover_policy = \"inherit\"\n"), "{text}");
        assert!(!text.contains("[sctp]"), "{text}");
        let text = edited("link.wifi.forward.loss", "0.01").expect("a new table in a list item");
        assert_eq!(read(&text, &["link.wifi.forward.loss".into()]), Ok(vec![Some("0.01".into())]));
        assert_eq!(read(&text, &["link.lte.forward.loss".into()]), Ok(vec![None]));
    }

    #[test]
    fn a_name_creates_a_list_item() {
        let values = [("link.dsl.name", "\"dsl\""), ("link.dsl.rate", "\"1Mbps\"")];
        let values = values.map(|(key, value)| (key.to_owned(), Some(value.to_owned())));
        let text = edit(TEXT, &values).expect("a new item");
        assert_eq!(text, format!("{TEXT}\n[[link]]\nname = \"dsl\"\nrate = \"1Mbps\"\n"));
        assert_eq!(edit(&text, &values).expect("the same item"), text);
    }

    #[test]
    fn values_and_list_items_are_removed() {
        assert_eq!(without("link.wifi.rate"), TEXT.replace("rate = \"20Mbps\" # much\n", ""));
        assert_eq!(without("link.lte.rate"), TEXT);
        assert_eq!(without("link.dsl.rate"), TEXT);
        let text = without("link.lte");
        assert!(text.contains("\"wifi\"") && !text.contains("\"lte\""), "{text}");
    }

    #[test]
    fn faults_name_the_key() {
        let fault = edited("link.dsl.rate", "\"5Mbps\"").expect_err("no such link");
        assert_eq!(fault, "link.dsl.rate: the scenario has no such table or list item");
        let fault = edited("link.wifi.rate", "5Mbps").expect_err("no TOML");
        assert_eq!(fault, "link.wifi.rate: 5Mbps is not a TOML value");
    }

    #[test]
    fn values_are_read_as_toml() {
        let keys = ["link.wifi.rate", "link.lte.queue.packets", "link.lte.rate", "link.x.rate"];
        let values = read(TEXT, &keys.map(str::to_owned)).expect("TOML");
        assert_eq!(values, [Some("\"20Mbps\"".to_owned()), Some("5".to_owned()), None, None]);
    }
}
