import { expect, test } from 'bun:test'
import { cost, createContext } from '../../../test/formats/conformance/round-trip.ts'
import { wireFormats } from '../../formats/all.ts'
import { ReplyCollector } from '../../formats/call/event.ts'
import { ReplyPipeline, type ReplyTransform } from '../reply/transforms.ts'
import { formats } from '../request/formats.ts'
import { decodeReply } from './decode-reply.ts'

type DecodeParameters = Parameters<typeof decodeReply>

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
  await decodeReply(
    { endpoint: { provider: { signatures: 'vendor_d-responses-v1' } } } as unknown as DecodeParameters[0],
    { dialect: wireFormats.responses, isPassThrough: true } as unknown as DecodeParameters[1],
    { body, length: JSON.stringify(body).length },
    new ReplyPipeline([], [recorded]),
    null,
  )
  const { encodeReply } = formats.responses.replyCodec
  const replayed = encodeReply(recorded.reply, createContext(), cost)
  expect(replayed).toMatchObject({ output: [{ id: 'rs_1', encrypted_content: 'b3BhcXVl' }, {}] })
})

test('a whole reply with transforms is never passed through, and is what they make of it', async () => {
  const redact: ReplyTransform = {
    transform: (event) => JSON.parse(JSON.stringify([event]).replaceAll('Hello', '***')),
    end: () => [],
  }
  const reply = await decodeReply(
    { endpoint: { provider: {} } } as unknown as DecodeParameters[0],
    { dialect: wireFormats.responses, isPassThrough: true } as unknown as DecodeParameters[1],
    { body, length: JSON.stringify(body).length },
    new ReplyPipeline([redact], []),
    formats.responses.replyCodec.replyLimits,
  )
  expect(reply.body).toBeNull()
  expect(JSON.stringify(reply.events)).toContain('***')
  expect(JSON.stringify(reply.events)).not.toContain('Hello')
})
