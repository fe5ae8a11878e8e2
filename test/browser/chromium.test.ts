import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'

/** The helper itself: a problem that it does not see is one that no test of a page can see. */
describeInChromium('Chromium of the tests', (chromium) => {
  let body = ''
  let server: Bun.Server<undefined>
  beforeAll(() => {
    server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        new Response(`<!doctype html><title>Page</title>${body}`, {
          headers: {
            'content-type': 'text/html',
            'content-security-policy': "script-src 'nonce-a'; style-src 'none'; form-action 'self'",
          },
        }),
    })
  })
  afterAll(() => server.stop(true))

  const show = async (markup: string) => {
    body = markup
    const page = await chromium().openPage()
    await page.goto(`http://localhost:${server.port}/`)
    return page
  }

  test('a page without problems', async () => {
    await show('<p>Text</p><script nonce="a">console.log("hello")</script>')
    expect(await chromium().takeProblems()).toEqual([])
  })

  test.each([
    ['an error of the console', '<script nonce="a">console.error("broken")</script>', 'broken'],
    ['an uncaught error', '<script nonce="a">throw new Error("uncaught")</script>', 'uncaught'],
    ['a rejected promise', '<script nonce="a">Promise.reject(new Error("rejected"))</script>', 'rejected'],
    ['a script that the policy forbids', '<script>0</script>', 'Content Security Policy'],
    ['a style that the policy forbids', '<p style="color: red">Text</p>', 'Content Security Policy'],
    ['an image of another host', '<img src="http://other.example/">', 'requested http://other.example/'],
    ['an image of another address', '<img src="http://192.0.2.1/">', 'requested http://192.0.2.1/'],
  ])('%s is a problem', async (_, markup, problem) => {
    await show(markup)
    expect((await chromium().takeProblems()).join('\n')).toContain(problem)
  })

  test('a page of another host, also after a redirect, is a problem and ends on loopback', async () => {
    const redirect = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => Response.redirect('http://other.example/'),
    })
    for (const url of [`http://localhost:${redirect.port}/`, 'http://192.0.2.1/']) {
      const page = await chromium().openPage()
      await expect(page.goto(url)).rejects.toThrow('ERR_CONNECTION_REFUSED')
    }
    await redirect.stop(true)
    const problems = (await chromium().takeProblems()).join('\n')
    expect(problems).toContain('requested http://other.example/')
    expect(problems).toContain('requested http://192.0.2.1/')
  })
})
