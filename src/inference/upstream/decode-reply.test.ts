import { expect, test } from 'bun:test'
import { cost, createContext } from '../../../test/formats/conformance/round-trip.ts'
import { wireFormats } from '../../formats/all.ts'
import { ReplyCollector } from '../../formats/call/event.ts'
import { ReplyPipeline, type ReplyTransform } from '../reply/transforms.ts'
import { formats } from '../request/formats.ts'
import type { Attempt } from './attempt.ts'
import { decodeReply } from './decode-reply.ts'

const body = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'lab/reasoning',
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'b3BhcXVl' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}

test('observers of a passed-through reply see the signature that the client gets, not a vendor mark', async () => {
  const recorded = new ReplyCollector()
  const attempt = {
    candidate: { endpoint: { provider: { signatures: 'vendor_d-responses-v1' } } },
    translation: { wireFormat: wireFormats.responses, isPassThrough: true },
    pipeline: new ReplyPipeline([], [recorded]),
  } as unknown as Attempt
  await decodeReply(attempt, { body, length: JSON.stringify(body).length }, null)
  const { encodeReply } = formats.responses.replyCodec
  const replayed = encodeReply(recorded.reply, createContext(), cost)
  expect(replayed).toMatchObject({ output: [{ id: 'rs_1', encrypted_content: 'b3BhcXVl' }, {}] })
})

test('a whole reply with transforms is never passed through, and is what they make of it', async () => {
  const redact: ReplyTransform = {
    transform: (event) => JSON.parse(JSON.stringify([event]).replaceAll('Hello', '***')),
    end: () => [],
  }
  const attempt = {
    candidate: { endpoint: { provider: {} } },
    translation: { wireFormat: wireFormats.responses, isPassThrough: true },
    pipeline: new ReplyPipeline([redact], []),
  } as unknown as Attempt
  const received = { body, length: JSON.stringify(body).length }
  const reply = await decodeReply(attempt, received, formats.responses.replyCodec.replyLimits)
  expect(reply.body).toBeNull()
  expect(JSON.stringify(reply.events)).toContain('***')
  expect(JSON.stringify(reply.events)).not.toContain('Hello')
})
