import { expect, test } from 'bun:test'
import { vendorReply } from '../../../test/support/replies.ts'
import { toMirroredRequest } from './exchange.ts'
import { measureMirror } from './mirror.ts'

test('what a mirror takes while it waits includes the reply that it is compared with', () => {
  const request = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(1000) }] }
  const unknown = {
    id: null,
    model: null,
    provider: null,
    costUsd: null,
    latencyMs: null,
    firstTokenMs: null,
  }
  const measure = (reply: ReturnType<typeof vendorReply>['body'] | null) => {
    const exchange = { ...unknown, format: 'chat' as const, request, reply, error: reply ? null : '500' }
    const httpRequest = new Request('http://127.0.0.1/')
    return measureMirror(toMirroredRequest(exchange, { region: null, httpRequest } as never))
  }
  const { body } = vendorReply('chat', 'text')
  const [choice] = body.choices as { message: object }[]
  const long = {
    ...body,
    choices: [{ ...choice, message: { ...choice?.message, content: 'y'.repeat(5000) } }],
  }
  expect(measure(null)).toBeWithin(1000, 2000)
  expect(measure(long)).toBeWithin(6000, 8000)
})
