import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { buildPdf } from '../../../test/support/pdf.ts'
import { PdfReader } from '../../governance/filters/pdf-reader.ts'
import { HtmlReader } from './html-reader.ts'
import { parseDomainRules } from './prepare.ts'
import { type PageOptions, readPage } from './read-page.ts'
import { webSettings } from './settings.ts'

const html = (title: string, body: string) =>
  `<!doctype html><html><head><title>${title}</title></head><body>${body}</body></html>`
const htmlType = { 'content-type': 'text/html; charset=utf-8' }
const long = 'x'.repeat(5000)

/** Replies of the site, by path. */
const replies: Record<string, () => Response | Promise<Response>> = {
  '/page': () => new Response(html('A page', '<p>Hello, reader.</p>'), { headers: htmlType }),
  '/plain': () => new Response('plain text', { headers: { 'content-type': 'text/plain' } }),
  '/latin': () =>
    new Response(Buffer.from([0x67, 0x72, 0xfc, 0x6e]), {
      headers: { 'content-type': 'text/plain; charset="ISO-8859-1"' },
    }),
  '/json': () => Response.json({ a: 1 }),
  '/pdf': () =>
    new Response(buildPdf(['Text of the document']), { headers: { 'content-type': 'application/pdf' } }),
  '/untyped': () =>
    new Response(buildPdf(['Sniffed']), { headers: { 'content-type': 'application/octet-stream' } }),
  '/image': () => new Response('png', { headers: { 'content-type': 'image/png' } }),
  '/binary': () => new Response('a\0b', { headers: { 'content-type': 'application/octet-stream' } }),
  '/gzip': () =>
    new Response(gzipSync('compressed'), {
      headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
    }),
  '/br': () =>
    new Response(brotliCompressSync('brotli'), {
      headers: { 'content-type': 'text/plain', 'content-encoding': 'br' },
    }),
  '/bomb': () =>
    new Response(gzipSync('0'.repeat(5_000_000)), {
      headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
    }),
  '/missing': () => new Response('not here', { status: 404 }),
  '/large': () => new Response('x'.repeat(2_000_000), { headers: { 'content-type': 'text/plain' } }),
  '/slow': () => new Promise<Response>(() => undefined),
  '/moved': () => redirect('/page#fragment'),
  '/loop': () => redirect('/loop'),
  '/inside': () => redirect('http://169.254.169.254/latest/meta-data'),
  '/to-private': () => redirect('https://private.test/'),
  '/to-file': () => redirect('file:///etc/passwd'),
  '/replaced': () =>
    new Response('\ufffd'.repeat(200_000) + long, { headers: { 'content-type': 'text/plain' } }),
  '/long': () => new Response(`${long}${'ü'.repeat(5000)}`, { headers: { 'content-type': 'text/plain' } }),
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } })
}

describe('reading a page', () => {
  let site: ReturnType<typeof Bun.serve>
  const paths: string[] = []
  const pdfReader = new PdfReader()
  const htmlReader = new HtmlReader()
  beforeAll(() => {
    site = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => {
        const { pathname } = new URL(request.url)
        paths.push(pathname)
        return (replies[pathname] ?? (() => new Response(null, { status: 500 })))()
      },
    })
  })
  afterAll(async () => {
    await site.stop(true)
    pdfReader.stop()
    htmlReader.stop()
  })

  const contextOf = (fetch: Record<string, unknown> = {}) => ({
    readers: { pdf: pdfReader, html: htmlReader },
    settings: {
      egress: { allow_private: [`site.test:${site.port}`, `www.site.test:${site.port}`] },
      web: webSettings.parse({ fetch: { max_bytes: 1_000_000, ...fetch } }),
    },
    resolve: async (host: string) => (host === 'nowhere.test' ? [] : ['127.0.0.1']),
  })
  const at = (path: string, host = 'site.test') => `http://${host}:${site.port}${path}`
  const read = (url: string, options: Partial<PageOptions> = {}, context = contextOf()) =>
    readPage(context, url, {
      owner: 'org',
      maxContentTokens: null,
      allowedDomains: [],
      blockedDomains: [],
      signal: new AbortController().signal,
      ...options,
    })
  const codeOf = async (...parameters: Parameters<typeof read>) => {
    const outcome = await read(...parameters)
    if (outcome.ok) return 'read'
    expect(outcome.error.message).not.toMatch(/127\.0\.0\.1|not here/)
    return outcome.error.code
  }

  test.each([
    ['/page', 'A page', 'Hello, reader.'],
    ['/plain', null, 'plain text'],
    ['/latin', null, 'grün'],
    ['/json', null, '{"a":1}'],
    ['/pdf', null, expect.stringContaining('Text of the document')],
    ['/untyped', null, expect.stringContaining('Sniffed')],
    ['/gzip', null, 'compressed'],
    ['/br', null, 'brotli'],
  ])('%s', async (path, title, text) => {
    const page = { url: at(path), status: 200, title, text, isComplete: true }
    expect(await read(at(path))).toEqual({ ok: true, page })
  })

  test('the URL is the last one of its redirects', async () => {
    expect(await read(at('/moved'))).toMatchObject({ ok: true, page: { url: at('/page') } })
  })

  test.each([
    ['/missing', 'http_error'],
    ['/large', 'too_large'],
    ['/image', 'unsupported_content_type'],
    ['/binary', 'unsupported_content_type'],
    ['/bomb', 'unreadable'],
    ['/loop', 'too_many_redirects'],
  ])('%s is the error %s', async (path, code) => {
    expect(await codeOf(at(path))).toBe(code)
  })

  test('an error has the status of the page', async () => {
    expect(await read(at('/missing'))).toEqual({
      ok: false,
      error: { code: 'http_error', message: 'The page replied with status 404.', status: 404 },
    })
  })

  test('the number of redirects is bounded', async () => {
    paths.length = 0
    await read(at('/loop'))
    expect(paths).toHaveLength(6)
  })

  test.each([
    ['file:///etc/passwd', 'invalid_url'],
    ['nonsense', 'invalid_url'],
    ['ftp://site.test/', 'invalid_url'],
    ['http://127.0.0.1/', 'private_address'],
    ['http://localhost/', 'private_address'],
    ['http://[::1]/', 'private_address'],
    ['http://2130706433/', 'private_address'],
    ['http://169.254.169.254/latest/meta-data', 'private_address'],
    ['https://user:pass@site.test/', 'private_address'],
    ['https://private.test/', 'private_address'],
    ['http://private.test/', 'private_address'],
    ['https://nowhere.test/', 'unreachable'],
    [`https://a.test/${'x'.repeat(5000)}`, 'invalid_url'],
  ])('S5 %s is the error %s, and nothing is sent', async (url, code) => {
    paths.length = 0
    expect(await codeOf(url)).toBe(code)
    expect(paths).toEqual([])
  })

  test.each([
    ['/inside', 'private_address'],
    ['/to-private', 'private_address'],
    ['/to-file', 'invalid_url'],
  ])('S5 a redirect is checked as the URL was: %s', async (path, code) => {
    paths.length = 0
    expect(await codeOf(at(path))).toBe(code)
    expect(paths).toEqual([path])
  })

  test('domains are allowed and blocked, after redirects too', async () => {
    const rules = (...texts: string[]) => parseDomainRules(texts, 'domains')
    expect(await codeOf(at('/page'), { allowedDomains: rules('other.test') })).toBe('blocked_domain')
    expect(await codeOf(at('/page'), { allowedDomains: rules('site.test') })).toBe('read')
    expect(await codeOf(at('/page', 'www.site.test'), { blockedDomains: rules('*.site.test') })).toBe(
      'blocked_domain',
    )
    paths.length = 0
    expect(await codeOf(at('/moved'), { blockedDomains: rules('site.test/page') })).toBe('blocked_domain')
    expect(paths).toEqual(['/moved'])
  })

  test('S13 time is bounded for all redirects together, and a canceled request ends', async () => {
    expect(await codeOf(at('/slow'), {}, contextOf({ timeout: 0.05 }))).toBe('timeout')
    expect(await codeOf(at('/page'), { signal: AbortSignal.abort() })).toBe('canceled')
  })

  test('the text is cut at the number of tokens, never within a character', async () => {
    const first = await read(at('/long'), { maxContentTokens: 10 })
    expect(first).toMatchObject({ ok: true, page: { text: 'x'.repeat(40), isComplete: false } })
    const second = await read(at('/long'), { maxContentTokens: 1251 })
    expect(second).toMatchObject({ ok: true, page: { text: `${long}üü`, isComplete: false } })
    const most = await read(at('/long'), { maxContentTokens: 1000 }, contextOf({ max_content_tokens: 5 }))
    expect(most).toMatchObject({ ok: true, page: { text: 'x'.repeat(20), isComplete: false } })
  })

  test('S13 a long run of replacement characters before the cut takes no time', async () => {
    const context = contextOf({ max_content_tokens: 1_000_000 })
    const page = await read(at('/replaced'), { maxContentTokens: 150_001 }, context)
    expect(page).toMatchObject({ ok: true, page: { isComplete: false } })
  })

  describe('S13 hostile pages', () => {
    const serve = (path: string, body: string) => {
      replies[path] = () => new Response(body, { headers: htmlType })
      return at(path)
    }

    test('a page that takes too long ends with an error, and the next one is read', async () => {
      const impatient = {
        ...contextOf(),
        readers: { pdf: pdfReader, html: new HtmlReader({ milliseconds: 0 }) },
      }
      const url = serve('/endless', html('Endless', '<p>text</p>'.repeat(20_000)))
      expect(await codeOf(url, {}, impatient)).toBe('unreadable')
      impatient.readers.html.stop()
      expect(await codeOf(at('/page'))).toBe('read')
    })

    test.each([
      ['deep nesting', '<div>'.repeat(150_000)],
      ['many attributes', `<p ${'a=b '.repeat(200_000)}>text</p>`],
      ['an unclosed script', `<script>${'<'.repeat(900_000)}`],
      ['entities', '&lt;'.repeat(200_000)],
      ['one long word', 'x'.repeat(900_000)],
    ])('%s does not hold the event loop', async (name, body) => {
      const url = serve(`/${name.replaceAll(' ', '-')}`, html('Hostile', body))
      await read(at('/page'))
      let turns = 0
      const ticker = setInterval(() => turns++, 5)
      const outcome = await read(url)
      clearInterval(ticker)
      expect(outcome.ok || outcome.error.code === 'unreadable').toBe(true)
      expect(turns).toBeGreaterThan(0)
    })
  })
})
