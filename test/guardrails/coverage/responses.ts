import { buildPdf } from '../../support/pdf.ts'
import { type CoverageCase, caseOf, streamWithField, toBase64, type WayIn } from './way-in.ts'

const model = 'test/responses'
const say = (...content: object[]) => ({ model, input: [{ role: 'user', content }] })
const ask = (fields: object = {}) => ({ model, input: 'Hello', ...fields })
const items = (...input: object[]) => ({ model, input: [...input, { role: 'user', content: 'Hello' }] })
const call = (fields: object = {}) => ({
  type: 'function_call',
  call_id: 'c1',
  name: 'f',
  arguments: '{}',
  ...fields,
})
const result = (output: unknown) => ({ type: 'function_call_output', call_id: 'c1', output })
const schema = (description: string) => ({
  type: 'object',
  properties: { a: { type: 'string', description } },
})
const tool = (fields: object) => ask({ tools: [{ type: 'function', name: 'f', ...fields }] })
const file = (filename: string, type: string, data: string | Uint8Array) =>
  say({ type: 'input_file', filename, file_data: `data:${type};base64,${toBase64(data)}` })

const cases: CoverageCase[] = [
  caseOf('input', 'text', (input) => ({ model, input })),
  caseOf('user message', 'text', (text) => say({ type: 'input_text', text })),
  caseOf('instructions', 'text', (instructions) => ask({ instructions })),
  caseOf('developer message', 'text', (content) => items({ role: 'developer', content })),
  caseOf('assistant message', 'text', (text) =>
    items({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
  ),
  // Without its encrypted form, reasoning is left out.
  caseOf(
    'reasoning sent back',
    'reasoning',
    (text) => items({ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text }] }),
    { isNotSent: true },
  ),
  caseOf('arguments of a tool call', 'tool-call', (canary) =>
    items(call({ arguments: JSON.stringify({ a: canary }) }), result('ok')),
  ),
  caseOf('result of a tool', 'tool-result', (canary) => items(call(), result(canary))),
  caseOf('input of a custom tool', 'tool-call', (input) =>
    items(
      { type: 'custom_tool_call', call_id: 'c1', name: 'f', input },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' },
    ),
  ),
  caseOf('name of a tool', 'tool', (name) => tool({ name })),
  caseOf('description of a tool', 'tool', (description) => tool({ description })),
  caseOf('schema of a tool', 'tool', (canary) => tool({ parameters: schema(canary) })),
  caseOf("settings of a provider's tool", 'tool', (canary) =>
    ask({ tools: [{ type: 'file_search', vector_store_ids: [canary] }] }),
  ),
  caseOf('id of the end user', 'parameter', (user) => ask({ user })),
  caseOf('metadata', 'parameter', (note) => ask({ metadata: { note } })),
  caseOf('key of the prompt cache', 'parameter', (canary) => ask({ prompt_cache_key: canary })),
  caseOf('schema of the reply', 'parameter', (canary) =>
    ask({ text: { format: { type: 'json_schema', name: 'r', schema: schema(canary) } } }),
  ),
  caseOf('text of a file', 'file', (canary) => file('a.txt', 'text/plain', canary)),
  caseOf('text of a PDF', 'file', (canary) => file('a.pdf', 'application/pdf', buildPdf([canary]))),
  caseOf('name of a file', 'name', (canary) => file(`${canary}.pdf`, 'application/pdf', buildPdf(['a']))),
  caseOf('URL of an image', 'url', (canary) =>
    say({ type: 'input_image', image_url: `https://example.com/${canary}.png` }),
  ),
  caseOf('URL of a file', 'url', (canary) =>
    say({ type: 'input_file', file_url: `https://example.com/${canary}.pdf` }),
  ),
]

/** Stored with a key that no filter applies to. */
const storedCases: CoverageCase[] = [
  {
    place: 'item of a conversation',
    part: 'text',
    plant: async (canary, setup) => {
      const { id } = await setup.post('/conversations', { items: [{ role: 'user', content: canary }] })
      return { body: ask({ conversation: id }) }
    },
  },
  {
    place: 'previous response',
    part: 'text',
    plant: async (canary, setup) => {
      const { id } = await setup.postUnfiltered('/responses', ask({ input: canary, store: true }))
      return { body: ask({ previous_response_id: id }) }
    },
  },
  {
    place: 'referenced item',
    part: 'text',
    plant: async (canary, setup) => {
      const message = { id: `msg_${canary.replaceAll('-', '')}`, role: 'user', content: canary }
      await setup.postUnfiltered('/responses', { model, store: true, input: [message] })
      return { body: { model, input: [{ type: 'item_reference', id: message.id }] } }
    },
  },
]

export const responsesWays: WayIn[] = [
  {
    name: 'responses',
    operation: 'createResponse',
    path: '/v1/responses',
    stream: streamWithField,
    cases: [...cases, ...storedCases],
  },
  {
    name: 'background responses',
    operation: 'createResponse',
    path: '/v1/responses',
    cases: [caseOf('input', 'text', (input) => ({ model, input, background: true }))],
  },
  {
    name: 'compaction of responses',
    operation: 'compactResponse',
    path: '/v1/responses/compact',
    returnsInput: true,
    cases: [
      caseOf('input', 'text', (input) => ({ model, input })),
      caseOf('instructions', 'text', (instructions) => ask({ instructions })),
      caseOf('result of a tool', 'text', (canary) => items(call(), result(canary))),
    ],
  },
  {
    name: 'tokens of responses',
    operation: 'countResponseTokens',
    path: '/v1/responses/input_tokens',
    cases: [caseOf('input', 'text', (input) => ({ model, input }))],
  },
]
