import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateDialects } from '../src/catalogue/vocabulary.ts'
import { startTestServer, type TestServer } from '../test/support/harness.ts'
import { pages } from './formats/pages.ts'
import { pagePath, renderFormatPage } from './formats.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer('sqlite')
})
afterAll(() => server.stop())

describe.each(generateDialects.map((name) => [name] as const))('the page of the format %s', (name) => {
  test('is what the conformance suite finds (npm run formats writes it)', async () => {
    expect(await Bun.file(pagePath(name)).text()).toBe(renderFormatPage(name))
  })

  test('R31 its examples run', async () => {
    for (const { path, auth, body } of [pages[name].whole, pages[name].stream]) {
      const answer = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...auth(server.own.inferenceKey) },
        body: JSON.stringify(body),
      })
      const told = await answer.text()
      expect({ path, status: answer.status, told }).toMatchObject({ status: 200 })
      expect(told).toContain('Hello')
    }
  })
})
