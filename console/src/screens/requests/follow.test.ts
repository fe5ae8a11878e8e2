import { expect, test } from 'bun:test'
import { type Connection, followStream } from './follow.ts'

function reply(text: string, status = 200): Response {
  return new Response(text, { status })
}

/** Answers in order, then ends. Waits take no time. */
async function follow(answers: (Response | Error)[]) {
  const controller = new AbortController()
  const events: string[] = []
  const connections: Connection[] = []
  const waits: number[] = []
  const result = await followStream(
    controller.signal,
    { onEvent: (data) => events.push(data), onConnection: (connection) => connections.push(connection) },
    {
      fetch: async () => {
        const answer = answers.shift() ?? new Error('no more answers')
        if (answer instanceof Error) throw answer
        return answer
      },
      wait: async (ms) => {
        waits.push(ms)
        if (answers.length === 0) controller.abort()
      },
    },
  ).then(
    () => null,
    (error: Error) => error.message,
  )
  return { events, connections, waits, result }
}

test('a stream that ends, fails or is refused for a while is connected again', async () => {
  const { events, connections, waits, result } = await follow([
    reply('data: 1\n\n'),
    new TypeError('no network'),
    reply('{}', 503),
    reply('{}', 429),
    reply('data: 2\n\n'),
  ])
  expect(result).toBeNull()
  expect(events).toEqual(['1', '2'])
  expect(waits).toEqual([1000, 2000, 4000, 8000, 1000])
  expect(connections.slice(0, 4)).toEqual(['connecting', 'connected', 'waiting', 'connecting'])
})

test('the delay is bounded', async () => {
  const { waits } = await follow(Array.from({ length: 8 }, () => new TypeError('no network')))
  expect(Math.max(...waits)).toBe(30_000)
})

test('a refusal that another attempt would not change ends it', async () => {
  const { waits, result } = await follow([reply('{"error": {"message": "Not permitted."}}', 403)])
  expect([waits, result]).toEqual([[], 'Not permitted.'])
})
