import { expect, test } from 'bun:test'
import { parseBlocks, parseSpans } from './rich-text-parse.ts'

test('code blocks, headings and text are told apart', () => {
  expect(parseBlocks('# Title\nHello\n\n```js\na < b\n```\n- end')).toEqual([
    { kind: 'heading', text: 'Title' },
    { kind: 'text', text: 'Hello' },
    { kind: 'code', text: 'a < b' },
    { kind: 'text', text: '- end' },
  ])
})

test('a code block that is still arriving is code', () => {
  expect(parseBlocks('~~~\n```\nx')).toEqual([{ kind: 'code', text: '```\nx' }])
})

test('strong text, code and links of a line', () => {
  expect(parseSpans('See **this** `<b>` and [docs](https://a.example/x), https://b.example.')).toEqual([
    { kind: 'text', text: 'See ' },
    { kind: 'strong', text: 'this' },
    { kind: 'text', text: ' ' },
    { kind: 'code', text: '<b>' },
    { kind: 'text', text: ' and ' },
    { kind: 'link', text: 'docs (a.example)', url: 'https://a.example/x' },
    { kind: 'text', text: ', ' },
    { kind: 'link', text: 'https://b.example.', url: 'https://b.example' },
  ])
})

test.each([
  '[x](javascript:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '<img src=x onerror=alert(1)>',
  '![x](//tracker.example/a.png)',
  'https://[',
])('%s is text', (text) => {
  expect(parseSpans(text).every(({ kind }) => kind === 'text')).toBe(true)
})

test.each(['`', '*a ', '**a', '[', '[a](', '[a](https://a', 'https://', '```\n', '# ', '`a` ', '\n'])(
  'a long run of %j takes no time and yields few elements',
  (piece) => {
    const text = `a${piece.repeat(200_000 / piece.length)}b`
    expect(parseBlocks(text).length).toBeLessThanOrEqual(501)
    expect(parseSpans(text).length).toBeLessThanOrEqual(501)
  },
)
