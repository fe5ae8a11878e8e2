import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { closeScenarios, createScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

afterAll(closeScenarios)

/** Scale of the bodies: in the long form each has the maximum size. */
const scale = isLong ? 1 : 0.1
const times = (text: string, count: number) => text.repeat(Math.floor(count * scale))
const prompt = (content: string) =>
  `{"model":"faults/fixed","messages":[{"role":"user","content":"${content}"}]}`
const list = (field: string, entry: string, count: number) =>
  `{"model":"faults/fixed","${field}":[${times(`${entry},`, count)}${entry}]}`

const attacks: [string, string, () => string][] = [
  ['numbers for messages', '/v1/chat/completions', () => list('messages', '1', 15_000_000)],
  ['numbers for input', '/v1/responses', () => list('input', '1', 15_000_000)],
  ['empty objects', '/v1/messages', () => list('messages', '{}', 10_000_000)],
  ['empty lists in lists', '/v1/chat/completions', () => list('tools', '[[]]', 6_000_000)],
  ['messages', '/v1/chat/completions', () => list('messages', '{"role":"user","content":"a"}', 1_000_000)],
  ['escaped quotes', '/v1/chat/completions', () => prompt(times('\\"', 15_000_000))],
  ['escapes', '/v1/chat/completions', () => prompt(times('\\u00e4', 5_000_000))],
  ['text', '/v1/chat/completions', () => prompt(times('word ', 6_000_000))],
]

/** Polls the health endpoint; reports the longest wait. */
function patient({ url }: GatewayProcess) {
  let longest = 0
  let isOver = false
  const polling = (async () => {
    while (!isOver) {
      const at = performance.now()
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      longest = Math.max(longest, performance.now() - at)
      await Bun.sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await polling
    return longest
  }
}

/** Bound for busy machines. It once took a minute. */
const boundMs = isLong ? 5000 : 3000

test(
  'S13 I10 while hostile bodies arrive, other requests are served',
  async () => {
    const scene = await createScenario('sqlite')
    const gateway = await scene.start()
    const key = await gateway.createKey(1)
    const waits: Record<string, number> = {}
    for (const [name, path, make] of attacks) {
      const body = make()
      const stop = patient(gateway)
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(gateway.url + path, { method: 'POST', headers, body })
      await response.text()
      waits[`ms of waiting for ${name}`] = Math.round(await stop())
    }
    printTotals('hostile bodies', waits)
    expect(Math.max(...Object.values(waits))).toBeLessThan(boundMs)
    await gateway.stop()
  },
  testTimeoutMs,
)

/** The pauses that are allowed take half a minute; `test/inference/request-size-limits.test.ts` has a short form. */
if (isLong)
  test(
    'S13 slowly dripped bodies are all timed out',
    async () => {
      const scene = await createScenario('sqlite')
      const gateway = await scene.start()
      const key = await gateway.createKey(1)
      const { hostname, port } = new URL(gateway.url)
      const drip = () =>
        new Promise<string>((resolve) => {
          const socket = connect(Number(port), hostname)
          socket.write(
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ntransfer-encoding: chunked\r\n\r\n`,
          )
          const timer = setInterval(() => socket.write('1\r\na\r\n'), 2000)
          let text = ''
          socket.on('data', (data) => {
            text += data.toString()
          })
          socket.on('error', () => undefined)
          socket.on('close', () => {
            clearInterval(timer)
            resolve(text.slice(0, 12))
          })
        })
      const responses = await Promise.all(Array.from({ length: 500 }, drip))
      expect(new Set(responses)).toEqual(new Set(['HTTP/1.1 408']))
      await gateway.stop()
    },
    testTimeoutMs,
  )
