import { describe, expect, test } from 'bun:test'
import { readHtml } from './html-text.ts'

const request = { charset: null, url: 'https://a.test/dir/page', maxCharacters: 100_000 }
const read = (html: string | Uint8Array, more: Partial<typeof request> = {}) =>
  readHtml(typeof html === 'string' ? Buffer.from(html) : html, { ...request, ...more })

const sentence = 'A sentence of an article, with a comma, long enough to be one. '
const article = `<!doctype html><html><head><title>The  title</title><style>p{}</style></head><body>
  <nav><a href="/home">Home</a></nav>
  <article><h1>Heading</h1><p>${sentence.repeat(5)}</p><p>See <a href="../other">the other page</a>,
  <a href="javascript:alert(1)">this</a> <img src="x.png" alt="A picture"></p>
  <ul><li>One</li><li>Two</li></ul><pre><code>let x = 1</code></pre><p>${sentence.repeat(5)}</p></article>
  <script>alert('script')</script><footer>Imprint</footer></body></html>`

describe('the text of HTML', () => {
  test('is the article as Markdown, with absolute links', () => {
    const { title, text, isComplete } = read(article)
    expect([title, isComplete]).toEqual(['The title', true])
    expect(text).toContain('## Heading')
    expect(text).toContain('[the other page](https://a.test/other)')
    expect(text).toContain('-   One')
    expect(text).toContain('let x = 1')
    expect(text).toContain('A picture')
    expect(text).not.toMatch(/alert|Imprint|p\{\}/)
  })

  test('is that of the whole page where there is no article', () => {
    const rows = Array.from(
      { length: 20 },
      (_, index) => `<li><a href="/item/${index}">Item ${index}</a></li>`,
    )
    const { text } = read(`<title>List</title><body><ul>${rows.join('')}</ul></body>`)
    expect(text).toContain('[Item 0](https://a.test/item/0)')
    expect(text).toContain('[Item 19](https://a.test/item/19)')
  })

  test('is cut at its limit', () => {
    const { text, isComplete } = read(article, { maxCharacters: 50 })
    expect([text.length, isComplete]).toEqual([50, false])
  })

  test('of an empty page is empty', () => {
    expect(read('')).toEqual({ title: null, text: '', isComplete: true })
  })

  test.each([
    ['header', Buffer.from([0x67, 0x72, 0xfc, 0x6e]), 'iso-8859-1', 'grün'],
    ['meta', Buffer.from('<meta charset="shift_jis"><p>\x82\xa0\x82\xa2</p>', 'latin1'), null, 'あい'],
    [
      'http-equiv',
      Buffer.from(
        '<meta http-equiv=Content-Type content="text/html; charset=windows-1251"><p>\xcf</p>',
        'latin1',
      ),
      null,
      'П',
    ],
    ['byte order mark', Buffer.from('\ufeffgr\u00fcn', 'utf16le'), 'utf-8', 'grün'],
    ['none, UTF-8', Buffer.from('grün'), null, 'grün'],
    ['none, not UTF-8', Buffer.from([0x67, 0x72, 0xfc, 0x6e]), null, 'grün'],
    ['unknown', Buffer.from('grün'), 'no-such-charset', 'grün'],
  ])('encoding by %s', (_, bytes, charset, text) => {
    expect(read(bytes, { charset: charset as null }).text).toBe(text)
  })

  test.each([
    ['deep nesting', `<title>Deep</title>${'<div>'.repeat(200_000)}inside`],
    ['very many elements', `<title>Deep</title>${'<b>x</b>'.repeat(100_000)}inside`],
  ])('S13 %s is read without its tags', (_, html) => {
    const { title, text } = read(html, { maxCharacters: 1_000_000 })
    expect([title, text.endsWith('inside'), text.includes('<')]).toEqual(['Deep', true, false])
  })

  test('entities of a page that is not parsed', () => {
    const { text } = read(`${'<div>'.repeat(2_000)}a &lt;b&gt; &amp; &#252;&#xfc;&nbsp;&unknown; &#9999999;`)
    expect(text).toBe('a <b> & üü &unknown; &#9999999;')
  })
})
