import { expect, test } from 'bun:test'
import { measureLoopDelay } from '../support/loop-delay.ts'
import { describeWithUpstreamsOnSqlite } from './two-upstreams.ts'

/** The longest that is counted after it is parsed. */
const length = 500_000

/** A prompt whose field `messages` has as many entries as fit. */
function fill(entry: (index: number) => string): string {
  const entries: string[] = []
  for (let size = 100; size < length; size += (entries.at(-1)?.length ?? 0) + 1)
    entries.push(entry(entries.length))
  return `{"model":"test/chat","messages":[${entries.join(',')}]}`
}

function fillObject(): string {
  return fill((index) => `"k${index}":1`)
    .replace('[', '{')
    .replace(']}', '}}')
}

const deep = '['.repeat(120) + ']'.repeat(120)

describeWithUpstreamsOnSqlite('a prompt of half a megabyte', (bench) => {
  const send = (body: string) => {
    const { url, own } = bench().server
    const headers = { authorization: `Bearer ${own.inferenceKey}`, 'content-type': 'application/json' }
    return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  }

  test.each([
    ['numbers', fill(() => '1')],
    ['empty lists', fill(() => '[]')],
    ['lists in lists', fill(() => deep)],
    ['objects', fill((index) => `{"k${index}":1}`)],
    ['members', fillObject()],
    ['brackets in a text', fill(() => '"[{[{[{[{"')],
  ])('S13 with many %s holds the event loop little longer than parsing it takes', async (_, body) => {
    // Others may take their turn between parsing it and each stage that follows.
    const parsing = await measureLoopDelay(0, () => JSON.parse(body))
    const limit = Math.max(30, 3 * parsing)
    const delay = await measureLoopDelay(limit, async () => {
      const response = await send(body)
      expect(response.status).toBe(400)
      await response.text()
    })
    expect(delay).toBeLessThan(limit)
  })

  test.each([
    [
      'nested too deeply',
      `{"model":"test/chat","messages":${'['.repeat(200)}1${']'.repeat(200)}}`,
      'nested deeper',
    ],
    ['with a key __proto__', '{"model":"test/chat","messages":[{"__proto__":{}}]}', '__proto__'],
    [
      'with an escaped key __proto__',
      '{"model":"test/chat","messages":[{"\\u005f_proto__":{}}]}',
      '__proto__',
    ],
    ['that is cut off', '{"model":"test/chat","messages":[', 'not valid JSON'],
  ])('S13 S14 a prompt %s is refused', async (_, body, message) => {
    const response = await send(body)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(message)
    expect(bench().first.requests).toHaveLength(0)
  })
})
