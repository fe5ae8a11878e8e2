import { expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { type MarkdownNode, parseMarkdown, textOf } from './markdown-parse.ts'

const parse = (text: string) => parseMarkdown(text, 4000) ?? []

/** Tags with their text, nested. */
function outline(nodes: readonly MarkdownNode[]): unknown[] {
  return nodes.map(({ tag, text, children }) =>
    children.length > 0
      ? [tag, ...outline(children)]
      : tag === 'text'
        ? text
        : text
          ? `${tag}: ${text}`
          : tag,
  )
}

function listAll(nodes: readonly MarkdownNode[]): MarkdownNode[] {
  return nodes.flatMap((node) => [node, ...listAll(node.children)])
}

test('headings, emphasis, code and lines', () => {
  expect(outline(parse('# A `b`\n\n**c** *d* ~~e~~\nf  \ng\n\n---'))).toEqual([
    ['h1', 'A ', 'code: b'],
    ['p', ['strong', 'c'], ' ', ['em', 'd'], ' ', ['s', 'e'], 'softbreak', 'f', 'br', 'g'],
    'hr',
  ])
})

test('lists, tasks and quotes', () => {
  const nodes = parse('- [x] a\n- [ ] b\n  - c\n\n3. e\n\n> d')
  expect(outline(nodes)).toEqual([
    ['ul', ['li', 'checkbox', ' a'], ['li', 'checkbox', ' b', ['ul', ['li', 'c']]]],
    ['ol', ['li', 'e']],
    ['blockquote', ['p', 'd']],
  ])
  const all = listAll(nodes)
  expect(all.filter(({ tag }) => tag === 'checkbox').map(({ isChecked }) => isChecked)).toEqual([true, false])
  expect(all.find(({ tag }) => tag === 'ol')?.start).toBe(3)
})

test('tables with their alignment, and code with its language', () => {
  const all = listAll(parse('|a|b|\n|:-|-:|\n|1|2|\n\n```JS run\nx < y\n```\n'))
  expect(all.filter(({ tag }) => tag === 'td').map(({ align }) => align)).toEqual(['left', 'right'])
  expect(all.find(({ tag }) => tag === 'code_block')).toMatchObject({ text: 'x < y', language: 'js' })
})

test('a code block that is still arriving is code', () => {
  expect(outline(parse('~~~\n```\nx'))).toEqual(['code_block: ```\nx'])
})

test('links with a label, bare ones and mail addresses', () => {
  const links = listAll(parse('[a](https://a.example/x) https://b.example. <me@c.example> [d](../d.md#e)'))
  expect(
    links
      .filter(({ tag }) => tag === 'a')
      .map(({ url, isBare, children }) => [url, isBare, textOf(children)]),
  ).toEqual([
    ['https://a.example/x', false, 'a'],
    ['https://b.example', true, 'https://b.example'],
    ['mailto:me@c.example', true, 'me@c.example'],
    ['../d.md#e', false, 'd'],
  ])
})

test.each([
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](vbscript:x)',
  '[x](data:text/html,<script>alert(1)</script>)',
  '![x](data:image/svg+xml;base64,PHN2Zz4=)',
  '[x](file:///etc/passwd)',
  '[x](//tracker.example/a)',
  '![x](//tracker.example/a.png)',
  '<javascript:alert(1)>',
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
])('S5 %s is text', (text) => {
  const all = listAll(parse(text))
  expect(all.filter(({ tag }) => !['p', 'text'].includes(tag))).toEqual([])
  expect(textOf(parse(text))).toMatch(/x|alert/)
})

const length = 100_000
const repeated = [
  ...[
    '>',
    '> ',
    '[',
    '![',
    '[a](',
    '[a](b',
    '[x][a] ',
    '[a]: b\n',
    '*a ',
    '*a**b_',
    'a_*',
    '**a',
    'a**',
    '_',
  ],
  ...['~~a', '~', '`', '<a ', '<!--', '<![CDATA[', '&', '&#x41;', '\\', '\n', '\t', ' ', '- ', '1. ', '> - '],
  ...['http://a.', 'a@b.', 'https://', '|', '|a', '```\n', 'a\n=\n', '#', '# a\n', '- [ ] a\n', '(', ']('],
]
/** Of a fast machine, it is a tenth of this: what takes a second takes minutes where time grows with the square. */
const maxCpuMs = 6_000

test.each(repeated)('%j, repeated, takes no time', (piece) => {
  const text = `a${piece.repeat(length / piece.length)}b`
  expect(measureCpuTime(() => parseMarkdown(text, 4000))).toBeLessThan(maxCpuMs)
})

test('runs of backticks of every length take no time', () => {
  const text = Array.from({ length: 440 }, (_, count) => `${'`'.repeat(count)}a`).join('')
  expect(measureCpuTime(() => parseMarkdown(text, 4000))).toBeLessThan(maxCpuMs)
})

test('lists and quotes nest as deep as a page can show', () => {
  const depthOf = (nodes: readonly MarkdownNode[]): number =>
    nodes.length === 0 ? 0 : 1 + Math.max(...nodes.map(({ children }) => depthOf(children)))
  for (const text of ['> '.repeat(5000), '*a **b '.repeat(5000), '['.repeat(5000)])
    expect(depthOf(parseMarkdown(`${text}x`, length) ?? [])).toBeLessThan(80)
})

test('a text of too many elements has none', () => {
  expect(parseMarkdown('# a\n'.repeat(2000), 4000)).toBeNull()
  expect(parseMarkdown('# a\n'.repeat(2000), 20_000)).toHaveLength(2000)
})
