"""What the tables of languages make of real syntax: each definition with its kind, container and name."""

from __future__ import annotations

import sys
import textwrap

import pytest

from headway.features.symbols import outline
from headway.workspace.documents import Document
from headway.workspace.grammars.registry import TABLES
from headway.workspace.index import Definition, SymbolKind, index_text

CASES: dict[str, tuple[str, str]] = {
    "javascript": (
        """
        // Opens things.

        module.exports = { create() {}, count: 1, remove: function() {} };
        Foo.prototype.bar = function(a) {};
        exports.quick = () => 1;
        const { a, b } = require("x"), z = 3;
        const LIMIT = 10;
        var api = { get() {}, set: () => 1 };
        (function() { function inner() {} })();
        describe("x", () => { function helper() {} });
        function* numbers() { const local = 1; const nested = () => { function deep() {} }; }
        class Queue { #size = 1; static { } constructor() {} get length() {} push = (x) => x; }
        """,
        """
        Method create
        Method remove
        Method Foo.bar
        Function quick
        Variable z
        Constant LIMIT
        Variable api
        Method api.get
        Method api.set
        Function inner
        Function helper
        Function numbers
        Function numbers.nested
        Function numbers.nested.deep
        Class Queue
        Field Queue.#size
        Constructor Queue.constructor
        Method Queue.length
        Method Queue.push
        """,
    ),
    "typescript": (
        """
        export default class Shop<T> extends Base implements Sells {
          private x: number = 1;
          constructor(p: string) { super(); }
          async sell<T>(a: string): Promise<void> {}
          arrow = (a: number) => 1;
        }
        interface Sells { price: string; sell(): void }
        type Pair = { left: number };
        enum Colour { Red, Green = 2 }
        namespace Space { export function go() {} }
        declare module "outer" { const q: number }
        abstract class Base { abstract run(): void; }
        declare function declared(a: string): void;
        """,
        """
        Class Shop
        Field Shop.x
        Constructor Shop.constructor
        Method Shop.sell
        Method Shop.arrow
        Interface Sells
        Property Sells.price
        Method Sells.sell
        Class Pair
        Property Pair.left
        Enum Colour
        EnumMember Colour.Red
        EnumMember Colour.Green
        Namespace Space
        Function Space.go
        Namespace outer
        Variable outer.q
        Class Base
        Method Base.run
        Function declared
        """,
    ),
    "tsx": (
        """
        export function Button({ label }: Props) { const click = () => {}; return <b onClick={click}>{label}</b>; }
        export const Page: FC<Props> = (props) => <Button label="x" />;
        """,
        """
        Function Button
        Function Button.click
        Function Page
        """,
    ),
    "go": (
        """
        package p
        func (r *Recv[T]) Do(a int) error { return nil }
        func Free[T any]() {}
        type Point struct {
            X, Y int
            embedded.E
        }
        type Doer interface { Do(a int) error; fmt.Stringer }
        type (Number = int; Callback func())
        const (
            First = iota
            Second
        )
        var v, w = 1, 2
        """,
        """
        Method Recv.Do
        Function Free
        Struct Point
        Field Point.X
        Field Point.Y
        Interface Doer
        Method Doer.Do
        Class Number
        Class Callback
        Constant First
        Constant Second
        Variable v
        Variable w
        """,
    ),
    "rust": (
        """
        #[derive(Debug)]
        pub struct Pair<T> { pub a: u8, b: T }
        enum Shape { Dot, Circle(u8), Box { side: u8 } }
        trait Draw { const Q: u8; fn draw(&self); fn twice() {} }
        impl<T> Draw for Pair<T> { fn draw(&self) {} }
        impl std::fmt::Display for outer::Shape<'_> { fn fmt() {} }
        mod inner { pub fn hidden() {} }
        macro_rules! mac { () => {} }
        static COUNT: u8 = 2;
        extern "C" { fn foreign(); }
        fn main() { fn nested() {} }
        """,
        """
        Struct Pair
        Field Pair.a
        Field Pair.b
        Enum Shape
        EnumMember Shape.Dot
        EnumMember Shape.Circle
        EnumMember Shape.Box
        Interface Draw
        Constant Draw.Q
        Method Draw.draw
        Method Draw.twice
        Method Pair.draw
        Method Shape.fmt
        Namespace inner
        Function inner.hidden
        Function mac
        Constant COUNT
        Function foreign
        Function main
        Function main.nested
        """,
    ),
    "java": (
        """
        package a.b;
        @Ann public class Account<T> extends Base {
          private int x, y = 1;
          Account(int q) {}
          @Override public void close() { class Local {} }
          enum State { OPEN, SHUT(1) { void hook() {} }; int code; }
          interface Sink { int K = 1; void put(); }
          record Point(int a) { Point {} }
          @interface Marks { int value() default 1; }
        }
        """,
        """
        Class Account
        Field Account.x
        Field Account.y
        Constructor Account.Account
        Method Account.close
        Class Account.close.Local
        Enum Account.State
        EnumMember Account.State.OPEN
        EnumMember Account.State.SHUT
        Method Account.State.SHUT.hook
        Field Account.State.code
        Interface Account.Sink
        Field Account.Sink.K
        Method Account.Sink.put
        Class Account.Point
        Constructor Account.Point.Point
        Interface Account.Marks
        Method Account.Marks.value
        """,
    ),
    "kotlin": (
        """
        package a.b
        @Ann
        data class User(val id: Int) : Base() {
          val name: String = ""
          companion object {
            const val LIMIT = 1
            fun create() = User(1)
          }
          fun rename(to: String): User { fun local() {} }
          inner class Part
        }
        interface Named {
          fun title(): String
        }
        enum class Level(val i: Int) {
          LOW(1), HIGH(2);
          fun next() {}
        }
        object Registry { }
        fun String.shout(): Int = 3
        typealias Id = Int
        val top by lazy { 1 }
        """,
        """
        Class User
        Property User.name
        Property User.LIMIT
        Method User.create
        Method User.rename
        Function User.rename.local
        Class User.Part
        Class Named
        Method Named.title
        Class Level
        EnumMember Level.LOW
        EnumMember Level.HIGH
        Method Level.next
        Class Registry
        Function shout
        Class Id
        Variable top
        """,
    ),
    "c": (
        """
        #ifndef GUARD_H
        #define GUARD_H
        #define MAX 10
        #define TWICE(x) ((x) + (x))
        typedef struct { int m; } Named;
        typedef int (*callback)(int);
        struct node { struct node *next; int value; } head;
        struct forward;
        union both { int i; float f; };
        enum { RED, GREEN };
        int (*hook)(int);
        static int table[3], *cursor = 0;
        struct node *make(struct node *from);
        int *find(void) { return 0; }
        #endif
        """,
        """
        Constant MAX
        Function TWICE
        Struct Named
        Field Named.m
        Class callback
        Variable head
        Struct node
        Field node.next
        Field node.value
        Struct both
        Field both.i
        Field both.f
        EnumMember RED
        EnumMember GREEN
        Variable hook
        Variable table
        Variable cursor
        Function make
        Function find
        """,
    ),
    "cpp": (
        """
        namespace a::b {
        template<class T> class Stack : public Base {
         public:
          Stack(); ~Stack();
          int size = 1, *top;
          virtual void push(T x) const = 0;
          void pop() {}
          struct Node { int z; };
          enum class Mode { Fast, Safe = 2 };
          operator bool() const;
          Stack& operator=(const Stack&);
          using Item = T;
          friend class Other;
        };
        }
        void a::b::Stack::swap() const { }
        int Stack<T>::quick() { return 1; }
        extern "C" { void ext(void); }
        int Counter::count = 3;
        """,
        """
        Namespace a::b
        Class a::b.Stack
        Constructor a::b.Stack.Stack
        Method a::b.Stack.~Stack
        Field a::b.Stack.size
        Field a::b.Stack.top
        Method a::b.Stack.push
        Method a::b.Stack.pop
        Struct a::b.Stack.Node
        Field a::b.Stack.Node.z
        Enum a::b.Stack.Mode
        EnumMember a::b.Stack.Mode.Fast
        EnumMember a::b.Stack.Mode.Safe
        Method a::b.Stack.operator bool() const
        Method a::b.Stack.operator=
        Class a::b.Stack.Item
        Method a::b.Stack.swap
        Method Stack.quick
        Function ext
        Variable Counter.count
        """,
    ),
    "csharp": (
        """
        namespace A.B {
          [Attr] public partial class Store<T> : Base {
            private int _x, y = 1;
            public int Price { get; set; }
            public Store(int a) { }
            public async Task<T> Load<T>(int a) { void Local() {} }
            public event Action Changed;
            public delegate void Handler(int x);
          }
          struct Size { }
          interface ISink { void Put(); }
          enum Level { Low, High = 2 }
          record Point(int X, string Y);
        }
        """,
        """
        Namespace A.B
        Class A.B.Store
        Field A.B.Store._x
        Field A.B.Store.y
        Property A.B.Store.Price
        Constructor A.B.Store.Store
        Method A.B.Store.Load
        Function A.B.Store.Load.Local
        Event A.B.Store.Changed
        Class A.B.Store.Handler
        Struct A.B.Size
        Interface A.B.ISink
        Method A.B.ISink.Put
        Enum A.B.Level
        EnumMember A.B.Level.Low
        EnumMember A.B.Level.High
        Class A.B.Point
        """,
    ),
    "ruby": (
        """
        module Billing
          class Invoice < Base
            RATE = 1
            attr_accessor :total, :due
            def initialize(a)
              @a = a
            end
            def self.build; end
            class << self
              def reset; end
            end
            private def secret; end
          end
        end
        class Outer::Inner; end
        def top; end
        $global = 1
        local = 2
        """,
        """
        Namespace Billing
        Class Billing.Invoice
        Constant Billing.Invoice.RATE
        Property Billing.Invoice.total
        Property Billing.Invoice.due
        Constructor Billing.Invoice.initialize
        Method Billing.Invoice.build
        Method Billing.Invoice.reset
        Method Billing.Invoice.secret
        Class Outer::Inner
        Function top
        Variable $global
        """,
    ),
    "php": (
        """
        <?php
        namespace App;
        #[Attr]
        abstract class Model extends Base {
          const K = 1, L = 2;
          public ?int $id = 1;
          public function __construct(int $a) { }
          public function save(): int { return 1; }
        }
        interface Saves { function save(); }
        trait Logs { }
        enum Suit: string { case Hearts = 'h'; }
        function helper() {}
        const LIMIT = 2;
        namespace Other { function inner() {} }
        """,
        """
        Namespace App
        Class Model
        Constant Model.K
        Constant Model.L
        Field Model.id
        Constructor Model.__construct
        Method Model.save
        Interface Saves
        Method Saves.save
        Class Logs
        Enum Suit
        EnumMember Suit.Hearts
        Function helper
        Constant LIMIT
        Namespace Other
        Function Other.inner
        """,
    ),
    "shell": (
        """
        #!/bin/bash
        deploy() { local x=1; inner() { :; }; }
        function halt { echo; }
        export TARGET=prod
        count=2
        if true; then fallback() { :; }; fi
        """,
        """
        Function deploy
        Function deploy.inner
        Function halt
        Constant TARGET
        Variable count
        Function fallback
        """,
    ),
    "sql": (
        """
        CREATE TABLE IF NOT EXISTS app.users (id INT PRIMARY KEY, name TEXT NOT NULL);
        CREATE VIEW adults AS SELECT 1;
        CREATE OR REPLACE FUNCTION total(a int) RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql;
        CREATE INDEX by_name ON users (name);
        CREATE SCHEMA audit;
        ALTER TABLE users ADD COLUMN x int;
        """,
        """
        Struct users
        Field users.id
        Field users.name
        Struct adults
        Function total
        Key by_name
        Namespace audit
        """,
    ),
    "css": (
        """
        :root { --main-colour: red; }
        .card, .list > #first.open { color: red; }
        @media (min-width: 1px) { .wide { } }
        @keyframes spin { from {} to {} }
        h1 { }
        """,
        """
        Variable --main-colour
        Class card
        Class list
        Class open
        Key first
        Class wide
        Function spin
        """,
    ),
    "html": (
        """
        <html><head><title>Shop</title></head><body>
        <h1 class="z">Welcome <b>back</b></h1>
        <div id="main"><p id=foo>t</p><br/></div>
        </body></html>
        """,
        """
        String Shop
        String Welcome
        Key main
        Key main.foo
        """,
    ),
    "json": (
        """
        {"name": "x", "scripts": {"build": [1, {"deep": {"deeper": 2}}]}}
        """,
        """
        Key name
        Key scripts
        Key scripts.build
        Key scripts.build.deep
        """,
    ),
    "yaml": (
        """
        jobs:
          build: 1
          steps:
            - run: 2
        on: {push: 1}
        ---
        other: &x 3
        """,
        """
        Key jobs
        Key jobs.build
        Key jobs.steps
        Key jobs.steps.run
        Key on
        Key on.push
        Key other
        """,
    ),
    "toml": (
        """
        title = 1
        [tool.thing]
        level = "d"
        [[items]]
        at.x = {w = 1}
        """,
        """
        Key title
        Object tool.thing
        Key tool.thing.level
        Object items
        Key items.at.x
        Key items.at.x.w
        """,
    ),
    "markdown": (
        """
        # One *x*

        text

        ## Two ##

        Three
        =====

        # Four
        """,
        """
        String One *x*
        String One *x*.Two
        String One *x*.Two.Three
        String Four
        """,
    ),
}
SUFFIXES = {
    "javascript": ".js",
    "typescript": ".ts",
    "rust": ".rs",
    "kotlin": ".kt",
    "csharp": ".cs",
    "ruby": ".rb",
    "shell": ".sh",
    "markdown": ".md",
}


def named(language: str) -> str:
    return f"pkg/sample{SUFFIXES.get(language, f'.{language}')}"


def definitions(language: str, source: str) -> list[Definition]:
    return list(index_text(named(language), source).definitions[1:])


def told(found: list[Definition]) -> list[str]:
    return [f"{SymbolKind(d.kind).label} {'.'.join(filter(None, (d.container, d.name)))}" for d in found]


@pytest.mark.parametrize("language", TABLES)
def test_definitions(language: str) -> None:
    source, expected = (textwrap.dedent(part).lstrip("\n") for part in CASES[language])
    assert told(definitions(language, source)) == expected.rstrip("\n").split("\n")


@pytest.mark.parametrize("language", TABLES)
def test_places_hold_the_names_whatever_stands_before_them(language: str) -> None:
    """With letters beyond ASCII before everything, each name still lies where it is said to."""
    source = textwrap.dedent(CASES[language][0]).lstrip("\n")
    text = f"{source}\n" if language in ("php", "shell") else source
    document = Document(uri="file:///a", language=language, version=1, text=text.replace("x", "é𠀋"))
    found = definitions(language, document.text)
    assert found
    for definition in found:
        assert document.slice(definition.selection_range) == definition.name
        whole = definition.range
        assert whole.start <= definition.selection_range.start <= definition.selection_range.end <= whole.end


@pytest.mark.parametrize("language", TABLES)
def test_broken_source_is_reported_and_loses_only_what_is_broken(language: str) -> None:
    source = textwrap.dedent(CASES[language][0])
    for cut in range(0, len(source), max(1, len(source) // 20)):
        index_text(named(language), source[:cut] + "}{)(\0<" + source[cut:])


@pytest.mark.parametrize("language", TABLES)
@pytest.mark.parametrize("opening", ["{", "(", "[", "<div>", "function f() {", "- ", "class A {", "#"])
def test_no_nesting_is_too_deep(language: str, opening: str) -> None:
    found = index_text(named(language), opening * 3_000)
    assert found.definitions


def check(path: str, source: str, name: str) -> Definition:
    return next(d for d in index_text(path, textwrap.dedent(source).lstrip("\n")).definitions if d.name == name)


def test_signatures_end_where_bodies_begin() -> None:
    assert check("a.ts", "export const send = async (x: string) => x;\n", "send").detail == (
        "export const send = async (x: string)"
    )
    assert (
        check("a.go", "package p\nfunc (r *R) Do(\n\ta int,\n) error {\n}\n", "Do").detail
        == "func (r *R) Do( a int, ) error"
    )
    assert check("a.cs", "[Attr(1)]\npublic class A<T> : B\n{\n}\n", "A").detail == "public class A<T> : B"
    assert check("A.java", "class A { private int x = 1; }", "x").detail == "private int x = 1"
    assert check("a.md", "# Title\n\ntext\n", "Title").detail == "# Title"


def test_comments_right_before_a_definition_are_its_documentation() -> None:
    source = """
    // Copyright: nobody.

    /** Far away. */

    /**
     * Sends it.
     * @param x what
     */
    export function send(x) {} // not this
    const limit = 3; // nor this
    function plain() {}
    """
    assert check("a.js", source, "send").doc == "Sends it.\n@param x what"
    assert check("a.js", source, "plain").doc == ""
    assert check("a.rs", "/// First.\n/// Second.\n#[inline]\nfn f() {}\n", "f").doc == "First.\nSecond."
    assert check("a.cs", "/// <summary>Counts.</summary>\nclass A {}\n", "A").doc == "Counts."
    assert check("a.rb", "# Makes.\n# More.\ndef f; end\n", "f").doc == "Makes.\nMore."
    assert check("a.sql", "-- People.\nCREATE TABLE t (a int);\n", "t").doc == "People."


def test_the_first_comment_of_a_file_is_its_own() -> None:
    found = index_text("a.rs", "//! All about pears.\n\n/// A pear.\nstruct Pear;\n").definitions
    assert [d.doc for d in found] == ["All about pears.", "A pear."]
    assert index_text("a.go", "// Package p does it.\npackage p\n").definitions[0].doc == "Package p does it."
    assert index_text("a.c", "/* Copyright somebody */\n\nint f(void);\n").definitions[0].doc == ""


def test_a_header_with_classes_is_read_as_cpp() -> None:
    assert told(list(index_text("a.h", "class Foo { public: void m(); };\n").definitions[1:])) == [
        "Class Foo",
        "Method Foo.m",
    ]


def test_what_an_editor_calls_its_languages_is_known() -> None:
    source = "export const Page = () => <b/>;\n"
    for language in ("typescriptreact", "javascriptreact"):
        assert [d.name for d in index_text("Untitled-1", source, language).definitions[1:]] == ["Page"]


def test_functions_are_found_by_the_words_of_their_bodies() -> None:
    found = index_text("src/a.go", "package p\nfunc Do() { launchRocket() }\ntype T struct { Fuel int }\n")
    chunks = {found.definitions[chunk.ordinal].name: chunk for chunk in found.chunks}
    assert "rocket" in chunks["Do"].body
    assert "fuel" in chunks["T"].body
    assert "rocket" not in chunks["a"].body


def test_a_missing_grammar_costs_the_definitions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.workspace.grammars import extraction

    extraction.parser_of.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    try:
        found = index_text("a.go", "package p\nfunc Launch() {}\n")
    finally:
        extraction.parser_of.cache_clear()
    assert found.problem is not None
    assert "tree-sitter-go" in found.problem
    assert "launch" in found.chunks[0].body


def test_too_many_definitions_are_cut_and_reported() -> None:
    keys = ",".join(f'"k{i}": {i}' for i in range(3_000))
    found = index_text("a.json", f"{{{keys}}}")
    assert len(found.definitions) == 2_001
    assert found.problem is not None
    assert "the rest is left out" in found.problem


def test_outlines_nest() -> None:
    tops = outline(definitions("cpp", "namespace a::b { class C { void m(); }; }\nvoid a::b::C::m() {}\n"))
    assert [top.definition.name for top in tops] == ["a::b", "m"]
    assert [inner.definition.name for inner in tops[0].children[0].children] == ["m"]
