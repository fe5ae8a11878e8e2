import { buildPdf } from '../../support/pdf.ts'
import { type CoverageCase, caseOf, streamWithField, toBase64, type WayIn } from './way-in.ts'

const base = { model: 'test/messages', max_tokens: 100 }
const user = { role: 'user', content: 'Hello' }
const say = (...content: object[]) => ({ ...base, messages: [{ role: 'user', content }] })
const talk = (fields: object = {}) => ({ ...base, messages: [user], ...fields })
const answer = (...content: object[]) => ({
  ...base,
  messages: [user, { role: 'assistant', content }, user],
})
const use = (fields: object, content: unknown) => ({
  ...base,
  messages: [
    user,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {}, ...fields }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content }] },
  ],
})
const tool = (fields: object) => talk({ tools: [{ name: 'f', input_schema: { type: 'object' }, ...fields }] })
const schema = (description: string) => ({
  type: 'object',
  properties: { a: { type: 'string', description } },
})
const document = (source: object, fields: object = {}) => say({ type: 'document', source, ...fields })
const plain = { type: 'text', media_type: 'text/plain', data: 'Text' }
const pdf = (line: string) => ({
  type: 'base64',
  media_type: 'application/pdf',
  data: toBase64(buildPdf([line])),
})

const cases: CoverageCase[] = [
  caseOf('user message', 'text', (content) => ({ ...base, messages: [{ role: 'user', content }] })),
  caseOf('user message in parts', 'text', (text) => say({ type: 'text', text })),
  caseOf('system prompt', 'text', (system) => talk({ system })),
  caseOf('system prompt in parts', 'text', (text) => talk({ system: [{ type: 'text', text }] })),
  caseOf('assistant message', 'text', (text) => answer({ type: 'text', text })),
  // Without the signature of its text, reasoning is left out.
  caseOf(
    'reasoning sent back',
    'reasoning',
    (thinking) => answer({ type: 'thinking', thinking, signature: 'c2lnbmVk' }, { type: 'text', text: 'Hi' }),
    { isNotSent: true },
  ),
  caseOf('arguments of a tool call', 'tool-call', (canary) => use({ input: { a: canary } }, 'ok')),
  caseOf('name of a tool call', 'name', (name) => use({ name }, 'ok')),
  caseOf('result of a tool', 'tool-result', (canary) => use({}, canary)),
  caseOf('PDF in the result of a tool', 'tool-result', (canary) =>
    use({}, [{ type: 'document', source: pdf(canary) }]),
  ),
  caseOf('name of a tool', 'tool', (name) => tool({ name })),
  caseOf('description of a tool', 'tool', (description) => tool({ description })),
  caseOf('schema of a tool', 'tool', (canary) => tool({ input_schema: schema(canary) })),
  // The id itself is not sent on, but a hash of it.
  caseOf('id of the end user', 'parameter', (user_id) => talk({ metadata: { user_id } }), {
    isNotSent: true,
  }),
  caseOf('stop sequence', 'parameter', (canary) => talk({ stop_sequences: [canary] })),
  caseOf('text of a file', 'file', (data) => document({ ...plain, data })),
  caseOf('text of a PDF', 'file', (canary) => document(pdf(canary))),
  caseOf('name of a file', 'name', (title) => document(plain, { title })),
  caseOf('context of a file', 'text', (context) => document(plain, { context })),
  caseOf('URL of an image', 'url', (canary) =>
    say({ type: 'image', source: { type: 'url', url: `https://example.com/${canary}.png` } }),
  ),
  caseOf('URL of a file', 'url', (canary) =>
    document({ type: 'url', url: `https://example.com/${canary}.pdf` }),
  ),
  caseOf('search result', 'text', (text) =>
    say({
      type: 'search_result',
      source: 'https://example.com',
      title: 'A',
      content: [{ type: 'text', text }],
    }),
  ),
]

export const messagesWays: WayIn[] = [
  { name: 'messages', operation: 'createMessage', path: '/v1/messages', stream: streamWithField, cases },
  {
    name: 'tokens of messages',
    operation: 'countMessageTokens',
    path: '/v1/messages/count_tokens',
    cases: [
      caseOf('user message', 'text', (content) => ({ ...base, messages: [{ role: 'user', content }] })),
      caseOf('system prompt', 'text', (system) => talk({ system })),
    ],
  },
]
