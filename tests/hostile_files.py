# ruff: noqa: E501 (a statement is a line)
"""Files of live experiments that are damaged, or made to do harm, each from a sound one."""

import json
import sqlite3
import struct
from contextlib import closing

from caet_opt.live.database import ENDED

#: What is written over the tables, with SQLite's protection of the schema off.
WRITABLE = "PRAGMA writable_schema = ON"

#: A query that never ends.
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"

#: name: statements that spoil a sound file; those with a schema of their own are refused by its text.
STATEMENTS = {
    "view for experiment": "DROP TABLE experiment; CREATE VIEW experiment AS SELECT 1 AS id, 0.0 AS started, '0' AS version,"
    """ '["a", "b", "c"]' AS names, 1 AS guaranteed, '' AS saved""",
    "endless view for experiment": f"DROP TABLE experiment; CREATE VIEW experiment AS {ENDLESS} i AS id, 0.0 AS started,"
    " '0' AS version, '[]' AS names, 1 AS guaranteed, '' AS saved FROM n",
    "endless view for pulls": "ALTER TABLE pulls RENAME TO old; DROP INDEX waiting; CREATE VIEW pulls AS "
    f"{ENDLESS} i AS number, 0 AS arm, 0.0 AS handed_out, NULL AS withdrawn, 1 AS waiting FROM n",
    "endless view for outcomes": f"DROP TABLE outcomes; CREATE VIEW outcomes AS {ENDLESS} i AS position, 1 AS pull, 1.0 AS"
    " reward, 1.0 AS cost, 0.0 AS recorded FROM n",
    "view for stop": "DROP TABLE stop; CREATE VIEW stop AS SELECT 1 AS id, 1 AS position, 0.0 AS stopped, '0' AS answer, "
    "1.0 AS cost",
    "view of itself": f"{WRITABLE}; INSERT INTO sqlite_master VALUES ('view', 'more', 'more', 0, "
    "'CREATE VIEW more AS SELECT * FROM more')",
    "view with a huge text": "CREATE VIEW more AS SELECT printf('%.*c', 900000000, 'x') AS saved",
    "one view more": "CREATE VIEW more AS SELECT 1",
    "one table more": "CREATE TABLE more (x)",
    "one index more": "CREATE INDEX more ON outcomes (reward)",
    "trigger that forgets outcomes": "CREATE TRIGGER more AFTER INSERT ON outcomes BEGIN DELETE FROM outcomes; END",
    "trigger that changes rewards": "CREATE TRIGGER more AFTER INSERT ON outcomes BEGIN UPDATE outcomes SET reward = 1; END",
    "trigger without end": f"CREATE TRIGGER more AFTER INSERT ON pulls BEGIN INSERT INTO outcomes {ENDLESS} i, i, 1.0, 1.0,"
    " 0.0 FROM n; END",
    "trigger that refuses": "CREATE TRIGGER more BEFORE INSERT ON pulls BEGIN SELECT raise(ABORT, 'no'); END",
    "trigger on checkpoints": "CREATE TRIGGER more AFTER UPDATE ON checkpoint BEGIN UPDATE checkpoint SET position = 0; END",
    "generated column": "DROP TABLE stop; CREATE TABLE stop (id INTEGER PRIMARY KEY, position AS (abs(-9223372036854775808)),"
    " stopped, answer, cost)",
    "column less": "ALTER TABLE outcomes DROP COLUMN recorded",
    "column more": "ALTER TABLE pulls ADD COLUMN who TEXT DEFAULT 'nobody'",
    "no tables": "DROP TABLE stop; DROP TABLE checkpoint; DROP TABLE outcomes; DROP TABLE pulls; DROP TABLE experiment",
    "no index": "DROP INDEX waiting",
    "index without its condition": "DROP INDEX waiting; CREATE INDEX waiting ON pulls (number, arm)",
    "schema of nonsense": f"{WRITABLE}; UPDATE sqlite_master SET sql = 'CREATE TABLE pulls (' WHERE name = 'pulls'",
    "schema of numbers": f"{WRITABLE}; UPDATE sqlite_master SET sql = 7 WHERE name = 'pulls'",
    "schema that is missing": f"{WRITABLE}; UPDATE sqlite_master SET sql = NULL WHERE name = 'pulls'",
    "root on no page": f"{WRITABLE}; UPDATE sqlite_master SET rootpage = 999999 WHERE name = 'outcomes'",
    "root on page one": f"{WRITABLE}; UPDATE sqlite_master SET rootpage = 1 WHERE name = 'outcomes'",
    "roots exchanged": f"{WRITABLE}; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE "
    "name = 'pulls') WHERE name = 'checkpoint'",
    "virtual table": f"{WRITABLE}; INSERT INTO sqlite_master VALUES ('table', 'more', 'more', 0, "
    "'CREATE VIRTUAL TABLE more USING fts5(x)')",
    "no experiment row": "DELETE FROM experiment",
    "no checkpoint row": "DELETE FROM checkpoint",
    "no identity row": "DELETE FROM identity",
    "identity of bytes": "UPDATE identity SET value = x'00ff'",
    "names that are no JSON": "UPDATE experiment SET names = '['",
    "names that are no list": """UPDATE experiment SET names = '{"a": 1}'""",
    "names that are a text": """UPDATE experiment SET names = '"abc"'""",
    "names that are a number": "UPDATE experiment SET names = '3'",
    "names that are numbers": "UPDATE experiment SET names = '[1, 2, 3]'",
    "names that are lists": """UPDATE experiment SET names = '[["a"], ["b"], ["c"]]'""",
    "names nested without end": f"UPDATE experiment SET names = '{'[' * 100_000}'",
    "one name": """UPDATE experiment SET names = '["a"]'""",
    "four names": """UPDATE experiment SET names = '["a", "b", "c", "d"]'""",
    "a name twice": """UPDATE experiment SET names = '["a", "a", "c"]'""",
    "names with escape sequences": """UPDATE experiment SET names = '["a\\u001b[2J\\u001b[31mred", "b", "c"]'""",
    "names with lines": """UPDATE experiment SET names = '["a\\npull 1: c", "b", "c"]'""",
    "names that turn the text": """UPDATE experiment SET names = '["a\\u202egpj.exe", "b", "c"]'""",
    "names with half a character": """UPDATE experiment SET names = '["a\\ud800", "b", "c"]'""",
    "names of bytes": "UPDATE experiment SET names = x'5b5d'",
    "names that are no UTF-8": "UPDATE experiment SET names = CAST(x'5b22fffe225d' AS TEXT)",
    "a name of megabytes": """UPDATE experiment SET names = '["' || printf('%.*c', 3000000, 'x') || '", "b", "c"]'""",
    "guaranteed by a text": "UPDATE experiment SET guaranteed = 'yes'",
    "guaranteed twice": "UPDATE experiment SET guaranteed = 2",
    "started as a text": "UPDATE experiment SET started = 'yesterday'",
    "started at 1e300": "UPDATE experiment SET started = 1e300",
    "started never": "UPDATE experiment SET started = 9e999",
    "started of bytes": "UPDATE experiment SET started = x'00'",
    "pulled at 1e300": "UPDATE pulls SET handed_out = 1e300",
    "pulled at minus 1e300": "UPDATE pulls SET handed_out = -1e300",
    "pulled at a text": "UPDATE pulls SET handed_out = 'now'",
    "withdrawn at a text": "UPDATE pulls SET withdrawn = 'later'",
    "recorded at 1e18": "UPDATE outcomes SET recorded = 1e18",
    "recorded at a text": "UPDATE outcomes SET recorded = 'now'",
    "arms out of range": "UPDATE pulls SET arm = 7",
    "arms below zero": "UPDATE pulls SET arm = -1",
    "arms beyond all bounds": "UPDATE pulls SET arm = 9223372036854775807",
    "arms as texts": "UPDATE pulls SET arm = 'a'",
    "arms as halves": "UPDATE pulls SET arm = 0.5",
    "waiting as texts": "UPDATE pulls SET waiting = 'x'",
    "a pull below zero": "INSERT INTO pulls (number, arm, handed_out) VALUES (-5, 0, 0)",
    "the last pull there can be": "INSERT INTO pulls (number, arm, handed_out) VALUES (9223372036854775807, 0, 0)",
    "an outcome below zero": "UPDATE outcomes SET position = -1 WHERE position = 1",
    "an outcome of no pull": "PRAGMA foreign_keys = OFF; UPDATE outcomes SET pull = 99 WHERE position = 1",
    "outcomes of texts": "PRAGMA foreign_keys = OFF; UPDATE outcomes SET pull = 'x' WHERE position = 1",
    "rewards as texts": "UPDATE outcomes SET reward = 'high'",
    "rewards without end": "UPDATE outcomes SET reward = 9e999",
    "rewards that are none": "UPDATE outcomes SET reward = 0.5",
    "rewards of bytes": "UPDATE outcomes SET reward = x'00'",
    "costs as texts": "UPDATE outcomes SET cost = 'dear'",
    "costs without end": "UPDATE outcomes SET cost = -9e999",
    "checkpoint of no outcome": "UPDATE checkpoint SET position = 77",
    "checkpoint below zero": "UPDATE checkpoint SET position = -3",
    "checkpoint at a text": "UPDATE checkpoint SET position = 'here'",
    "checkpoint of nonsense": "UPDATE checkpoint SET saved = 'nonsense'",
    "checkpoint of bytes": "UPDATE checkpoint SET saved = x'7b7d'",
    "checkpoint of nothing": "UPDATE checkpoint SET saved = '{}'",
    "checkpoint of a list": "UPDATE checkpoint SET saved = '[1]'",
    "checkpoint nested without end": f"UPDATE checkpoint SET saved = '{'[' * 100_000}'",
    "start of nonsense": "UPDATE experiment SET saved = 'nonsense'",
    "stopped with a text": """INSERT INTO stop VALUES (1, 1, 0, '"a"', 1)""",
    "stopped with nothing": "INSERT INTO stop VALUES (1, 1, 0, 'null', 1)",
    "stopped with another arm": "INSERT INTO stop VALUES (1, 1, 0, '12', 1)",
    "stopped with an arm below zero": "INSERT INTO stop VALUES (1, 1, 0, '-1', 1)",
    "stopped with a table": """INSERT INTO stop VALUES (1, 1, 0, '{"a": 1}', 1)""",
    "stopped with a list": "INSERT INTO stop VALUES (1, 1, 0, '[0, 1]', 1)",
    "stopped with no JSON": "INSERT INTO stop VALUES (1, 1, 0, 'a', 1)",
    "stopped at 1e300": "INSERT INTO stop VALUES (1, 1, 1e300, '0', 1)",
    "stopped at a cost of a text": "INSERT INTO stop VALUES (1, 1, 0, '0', 'dear')",
    "ended without a row": ENDED,
    "ended at a text": f"{ENDED}; INSERT INTO ended VALUES (1, 'now')",
    "ended at 1e300": f"{ENDED}; INSERT INTO ended VALUES (1, 1e300)",
    "ended never": f"{ENDED}; INSERT INTO ended VALUES (1, 9e999)",
    "ended of bytes": f"{ENDED}; INSERT INTO ended VALUES (1, x'00')",
    "ended in another table": "CREATE TABLE ended (id INTEGER PRIMARY KEY, moment REAL); INSERT INTO ended VALUES (1, 0.0)",
    "ended by a view": "CREATE VIEW ended AS SELECT 1 AS id, 0.0 AS moment",
    "ended and without identity": f"{ENDED}; INSERT INTO ended VALUES (1, 0.0); DROP TABLE identity",
    "stopped without end": f"INSERT INTO stop VALUES (1, 1, 0, '{'[' * 100_000}', 1)",
}

#: name: what becomes of a part of the saved experiment that is the checkpoint.
CHECKPOINTS = {
    "two arms": lambda saved: saved | {"arms": 2},
    "a million arms": lambda saved: saved | {"arms": 10**6},
    "arms of a text": lambda saved: saved | {"arms": "many"},
    "another task": lambda saved: saved | {"task": "top-arms:99"},
    "a task of a number": lambda saved: saved | {"task": 5},
    "a family of a list": lambda saved: saved | {"family": ["bernoulli"]},
    "another family": lambda saved: saved | {"family": "gaussian:1,2"},
    "a seed of a text": lambda saved: saved | {"seed": "x"},
    "costs below zero": lambda saved: saved | {"costs": [-1, -1, -1]},
    "a limit below zero": lambda saved: saved | {"settings": saved["settings"] | {"max_cost": -1}},
    "a limit of a text": lambda saved: saved | {"settings": saved["settings"] | {"max_pulls": "many"}},
    "another limit": lambda saved: saved | {"settings": saved["settings"] | {"max_cost": 9.0}},
    "no settings": lambda saved: saved | {"settings": None},
    "a setting of a list": lambda saved: saved | {"settings": saved["settings"] | {"policy": [1]}},
    "a solver of a list": lambda saved: saved | {"settings": saved["settings"] | {"solver": {"backend": ["x"]}}},
    "delta of a text": lambda saved: saved | {"log_inv_delta": "small"},
    "no state": lambda saved: saved | {"state": None},
    "counts of another length": lambda saved: saved | {"state": saved["state"] | {"counts": [1, 2]}},
    "counts without end": lambda saved: saved | {"state": saved["state"] | {"counts": [10**400] * 3}},
    "sums without end": lambda saved: saved | {"state": saved["state"] | {"reward_sums": [1e308] * 3}},
    "sums of texts": lambda saved: saved | {"state": saved["state"] | {"reward_sums": ["a", "b", "c"]}},
    "a target of another length": lambda saved: saved | {"target": [1.0]},
    "kept for a text": lambda saved: saved | {"kept": "long"},
    "a solution of a text": lambda saved: saved | {"solution": "good"},
}

#: name: what becomes of the bytes of the file, of which the first hundred are its header.
BYTES = {
    "nothing but its header": lambda data: data[:100],
    "half of it": lambda data: data[: len(data) // 2],
    "without its last page": lambda data: data[:-4096],
    "a page of zeros": lambda data: data[:4096] + bytes(4096) + data[8192:],
    "a page of ones": lambda data: data[:8192] + b"\xff" * 4096 + data[12288:],
    "its first page without tables": lambda data: data[:100] + bytes(3996) + data[4096:],
    "every third page turned over": lambda data: b"".join(
        page[::-1] if number % 3 == 2 else page for number, page in enumerate(pages(data))
    ),
    "a table whose name is no text": lambda data: (
        data[:4096].replace(b"CREATE TABLE pulls", b"CREATE TABLE\xfepul(s") + data[4096:]
    ),
    "pages of another size": lambda data: data[:16] + struct.pack(">H", 512) + data[18:],
    "pages of no size": lambda data: data[:16] + struct.pack(">H", 3) + data[18:],
    "an unknown schema format": lambda data: data[:44] + struct.pack(">I", 99) + data[48:],
    "an unknown encoding": lambda data: data[:56] + struct.pack(">I", 9) + data[60:],
    "an unknown log": lambda data: data[:18] + b"\x09\x09" + data[20:],
    "a billion pages": lambda data: data[:28] + struct.pack(">I", 10**9) + data[32:],
    "a log of noise": lambda data: data,
    "a tree that returns to itself": lambda data: turn_tree(data),
}


def pages(data):
    """The pages of a file."""
    return [data[begin : begin + 4096] for begin in range(0, len(data), 4096)]


def root_of(data, table):
    """The page on which a table begins, from zero."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.deserialize(data[:18] + b"\x01\x01" + data[20:])  # not with a log, which there is none of in memory
        return memory.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0] - 1


def turn_tree(data):
    """A file in which the pulls are a tree of ten levels of pages of four hundred equal branches: more leaves than atoms
    in a cup of tea, in forty kilobytes."""
    found, root = pages(data), root_of(data, "pulls")
    levels, first = 10, len(found)
    leaf = first + levels - 1

    def branch(below):
        cells = [struct.pack(">IB", below + 1, 1) for _ in range(400)]
        start = 4096 - sum(map(len, cells))
        places = [start + sum(map(len, cells[:number])) for number in range(len(cells))]
        head = b"\x05" + struct.pack(">HHHB", 0, len(cells), start, 0) + struct.pack(">I", below + 1)
        head += b"".join(struct.pack(">H", place) for place in places)
        return head + bytes(start - len(head)) + b"".join(cells)

    inner = [branch(first + level + 1) for level in range(levels - 1)]
    old = found[root]
    found[root] = branch(first)
    whole = b"".join([*found, *inner, old])
    assert leaf + 1 == len(whole) // 4096
    return whole[:28] + struct.pack(">I", len(whole) // 4096) + whole[32:]


def hostile_names():
    """The names of all of them."""
    return [*STATEMENTS, *(f"checkpoint with {name}" for name in CHECKPOINTS), *BYTES]


def spoil(path, name):
    """Make a sound file the one of this name."""
    if name in BYTES:
        path.write_bytes(BYTES[name](path.read_bytes()))
        if name == "a log of noise":
            path.with_name(f"{path.name}-wal").write_bytes(bytes(range(256)) * 200)
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        if name in STATEMENTS:
            for statement in STATEMENTS[name].split("; "):
                if statement.startswith("CREATE TRIGGER"):
                    connection.execute(STATEMENTS[name])
                    break
                connection.execute(statement)
        else:
            (saved,) = connection.execute("SELECT saved FROM checkpoint").fetchone()
            changed = CHECKPOINTS[name.removeprefix("checkpoint with ")](json.loads(saved))
            connection.execute("UPDATE checkpoint SET saved = ?", (json.dumps(changed),))
