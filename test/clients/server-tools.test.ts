import { afterAll, describe, expect, test } from 'bun:test'
import { bwrapPath, formatContainerSettings } from '../support/containers.ts'
import type { ResponseSource } from '../support/upstream.ts'
import { replyWithCalls, replyWithText } from '../tools/replies.ts'
import {
  anthropicBetaBlocks,
  anthropicBlocks,
  findDifferences,
  openaiEvents,
  openaiItems,
} from './declarations.ts'
import { modelOf, useLab } from './lab.ts'
import { anthropicClient, openaiClient } from './sdks.ts'
import { startSite } from './tools-site.ts'

const site = startSite()
afterAll(() => site.stop())
const lab = useLab({ ...site.settings, ...parseContainers() })

function parseContainers(): object {
  return bwrapPath === null ? {} : (Bun.YAML.parse(formatContainerSettings()) as object)
}

const formats = ['chat', 'responses', 'messages'] as const
type Format = (typeof formats)[number]
const modes = ['whole', 'streamed'] as const
// biome-ignore lint/suspicious/noExplicitAny: the SDKs do not know the gateway's own tools
type Any = any

interface ToolCase {
  /** Entries of `tools`, in each format that has the tool. */
  entries: Partial<Record<Format, object>>
  /** Additional fields of the request. */
  fields?: object
  /** The model's call. */
  calls: string
  input?: Record<string, unknown>
  /** Part of the result that the model is given. */
  result: string | RegExp
  /** The types of what the client gets before the text. */
  items?: string[]
  blocks?: string[]
  /** Number of sources that the text cites. */
  cites?: number
}

function forAll(entry: object): ToolCase['entries'] {
  return { chat: entry, responses: entry, messages: entry }
}
function forOpenAi(entry: object): ToolCase['entries'] {
  return { chat: entry, responses: entry }
}

const inner = 'sandbox/echo'
const mcpServer = { server_label: 'notes', server_url: site.mcpUrl, require_approval: 'never' }
const weather = { name: 'get_weather', description: 'The forecast', defer_loading: true }

const cases: Record<string, ToolCase> = {
  datetime: {
    entries: forAll({ type: 'service:datetime' }),
    calls: 'datetime',
    result: /\d{4}-\d\d-\d\dT/,
    items: ['service:datetime'],
    blocks: ['server_tool_use', 'service_datetime_tool_result'],
  },
  web_search: {
    entries: forAll({ type: 'service:web_search' }),
    calls: 'web_search',
    input: { query: 'tides' },
    result: 'High water at 14:05.',
    items: ['service:web_search'],
    blocks: ['server_tool_use', 'web_search_tool_result'],
    cites: 2,
  },
  'web_search as the vendor spells it': {
    entries: {
      responses: { type: 'web_search' },
      messages: { type: 'web_search_20250305', name: 'web_search' },
    },
    calls: 'web_search',
    input: { query: 'tides' },
    result: 'High water at 14:05.',
    items: ['web_search_call'],
    blocks: ['server_tool_use', 'web_search_tool_result'],
    cites: 2,
  },
  web_fetch: {
    entries: {
      ...forOpenAi({ type: 'service:web_fetch' }),
      messages: { type: 'web_fetch_20250910', name: 'web_fetch' },
    },
    calls: 'web_fetch',
    input: { url: site.pageUrl },
    result: 'Text of the page',
    items: ['service:web_fetch'],
    blocks: ['server_tool_use', 'web_fetch_tool_result'],
    cites: 1,
  },
  image_generation: {
    entries: forAll({ type: 'service:image_generation', parameters: { model: 'sandbox/painter' } }),
    calls: 'image_generation',
    input: { prompt: 'a tree' },
    result: 'The image was generated',
    items: ['service:image_generation'],
    blocks: ['server_tool_use', 'service_image_generation_tool_result', 'image'],
  },
  'image_generation as the vendor spells it': {
    entries: { responses: { type: 'image_generation', model: 'sandbox/painter' } },
    calls: 'image_generation',
    input: { prompt: 'a tree' },
    result: 'The image was generated',
    items: ['image_generation_call'],
  },
  files: {
    entries: forOpenAi({ type: 'service:files' }),
    calls: 'files',
    input: { operation: 'list' },
    result: '"files":',
    items: ['service:files'],
  },
  search_models: {
    entries: forAll({ type: 'service:experimental__search_models' }),
    calls: 'search_models',
    input: { query: 'lab' },
    result: 'lab/chat',
    items: ['service:experimental__search_models'],
    blocks: ['server_tool_use', 'service_experimental__search_models_tool_result'],
  },
  tool_search: {
    entries: {
      responses: { type: 'service:tool_search' },
      messages: { type: 'service:tool_search' },
    },
    calls: 'tool_search',
    input: { query: 'weather' },
    result: 'get_weather',
    items: ['service:tool_search'],
    blocks: ['server_tool_use', 'tool_search_tool_result'],
  },
  advisor: {
    entries: {
      ...forOpenAi({ type: 'service:advisor', parameters: { model: inner, stream: true } }),
      messages: { type: 'advisor_20260301', name: 'advisor', model: inner },
    },
    calls: 'advisor',
    input: { prompt: 'What now?' },
    result: 'What now?',
    items: ['service:advisor'],
    blocks: ['server_tool_use', 'advisor_tool_result'],
  },
  subagent: {
    entries: forOpenAi({ type: 'service:subagent', parameters: { model: inner } }),
    calls: 'subagent',
    input: { task_name: 'sum', task_description: 'Add one and two' },
    result: 'Add one and two',
    items: ['service:subagent'],
  },
  fusion: {
    entries: forOpenAi({ type: 'service:fusion', parameters: { analysis_models: [inner], model: inner } }),
    calls: 'fusion',
    input: { prompt: 'Which one?' },
    result: 'Which one?',
    items: ['service:fusion'],
  },
  mcp: {
    entries: {
      responses: { type: 'mcp', ...mcpServer },
      messages: { type: 'mcp_toolset', mcp_server_name: 'notes' },
    },
    calls: 'notes__find',
    input: { title: 'safe' },
    result: 'The note says 4711.',
    items: ['mcp_list_tools', 'mcp_call'],
    blocks: ['mcp_tool_use', 'mcp_tool_result'],
  },
  ...(bwrapPath !== null && {
    shell: {
      entries: { responses: { type: 'service:shell' }, messages: { type: 'service:shell' } },
      calls: 'shell',
      input: { commands: ['echo $((40 + 2))'] },
      result: '42',
      items: ['service:shell'],
      blocks: ['server_tool_use', 'service_shell_tool_result'],
    },
    bash: {
      entries: { messages: { type: 'service:bash', parameters: { engine: 'service' } } },
      calls: 'bash',
      input: { command: 'echo $((40 + 2))' },
      result: '42',
      blocks: ['server_tool_use', 'service_bash_tool_result'],
    },
  }),
}

const finalText = `It is as [the source](${site.sourceUrl}) and ${site.pageUrl} say.`
const prompt = 'Find out.'
const follow = 'And then?'

const text: ResponseSource = ({ json }) => replyWithText(finalText, json?.stream === true)

function callOf(name: string, input: Record<string, unknown> = {}): ResponseSource {
  return ({ json }) => replyWithCalls([name], json?.stream === true, null, input)
}

interface SdkReply {
  text: string
  /** The types of what comes before the text. */
  types: string[]
  /** Differences from the declarations of the SDK. */
  differences: string[]
  citations: string[]
  /** Input and output, of both turns. */
  tokens: number[]
  /** The prompt of a request with the reply in its history. */
  history: Any[]
}

type SendFn = (tools: object[], history: Any[], isStreamed: boolean) => Promise<SdkReply>

const model = modelOf('chat')
const question = { role: 'user', content: prompt }

const send: Record<Format, SendFn> = {
  chat: async (tools, messages, isStreamed) => {
    const body: Any = { model, messages, tools }
    const { completions } = openaiClient(lab()).chat
    const reply: Any = await (isStreamed
      ? completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      : completions.create(body))
    const { message } = reply.choices[0]
    return {
      text: message.content,
      types: (message.reasoning_details ?? []).map(({ type }: Any) => type),
      differences: [],
      citations: (message.annotations ?? []).map(({ url_citation }: Any) => url_citation.url),
      tokens: [reply.usage.prompt_tokens, reply.usage.completion_tokens],
      history: [...messages, message],
    }
  },
  responses: async (tools, input, isStreamed) => {
    const body: Any = { model, input, tools }
    const { responses } = openaiClient(lab())
    const differences: string[] = []
    const readStream = async () => {
      const stream = responses.stream(body)
      for await (const event of stream) differences.push(...findDifferences(openaiEvents, event))
      return stream.finalResponse()
    }
    const reply: Any = await (isStreamed ? readStream() : responses.create(body))
    const known = reply.output.filter(({ type }: Any) => !type.startsWith('service:'))
    return {
      text: reply.output_text,
      types: reply.output.map(({ type }: Any) => type).filter((type: string) => type !== 'message'),
      differences: [...differences, ...known.flatMap((item: object) => findDifferences(openaiItems, item))],
      citations: (reply.output.at(-1).content?.[0].annotations ?? []).map(({ url }: Any) => url),
      tokens: [reply.usage.input_tokens, reply.usage.output_tokens],
      history: [...input, ...reply.output],
    }
  },
  messages: async (tools, messages, isStreamed) => {
    const mcp_servers = tools.some((tool: Any) => tool.type === 'mcp_toolset')
      ? [{ type: 'url', name: 'notes', url: site.mcpUrl }]
      : undefined
    const body: Any = { model, max_tokens: 1000, messages, tools, ...(mcp_servers && { mcp_servers }) }
    const api = anthropicClient(lab()).beta.messages
    const reply: Any = await (isStreamed ? api.stream(body).finalMessage() : api.create(body))
    const known = reply.content.filter(({ type }: Any) => !type.startsWith('service_') && type !== 'image')
    const ownNames = tools.some((tool: Any) => tool.type?.startsWith('service:'))
    const differences = known.flatMap((block: Any) => {
      const isBeta = !anthropicBlocks.has(block.type) || block.name === 'advisor'
      return findDifferences(isBeta ? anthropicBetaBlocks : anthropicBlocks, block)
    })
    return {
      text: reply.content.at(-1).text,
      types: reply.content.slice(0, -1).map(({ type }: Any) => type),
      differences: differences.filter((difference: string) => !ownNames || !difference.startsWith('name')),
      citations: (reply.content.at(-1).citations ?? []).map(({ url }: Any) => url),
      tokens: [reply.usage.input_tokens, reply.usage.output_tokens],
      history: [...messages, { role: 'assistant', content: reply.content }],
    }
  },
}

/** A tool of the client that is found by a search. */
function deferredTool(format: Format): object {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  return format === 'messages'
    ? { ...weather, input_schema: schema }
    : { type: 'function', ...weather, parameters: schema }
}

describe.each(Object.entries(cases))('%s', (name, tool) => {
  const entries = formats.flatMap((format) => {
    const entry = tool.entries[format]
    return entry ? [[format, entry] as const] : []
  })
  for (const [format, entry] of entries) {
    const tools = name === 'tool_search' ? [entry, deferredTool(format)] : [entry]
    test.each(modes)(`through the SDK of ${format}: %s`, async (mode) => {
      lab().next.push(callOf(tool.calls, tool.input), text)
      const reply = await send[format](tools, [question], mode === 'streamed')
      expect(reply.text).toBe(finalText)
      expect(reply.differences).toEqual([])
      expect(reply.types).toEqual(typesIn(format, tool))
      expect(reply.citations).toHaveLength(tool.cites ?? 0)
      expect(reply.tokens).toEqual([20, 10])
      // The next request has the call and its result, in the upstream's own format.
      lab().next.push(text)
      const next = await send[format](
        tools,
        [...reply.history, { role: 'user', content: follow }],
        mode === 'streamed',
      )
      expect(next.text).toBe(finalText)
      const { messages } = lab().lastRequest().json as Any
      expect(messages.map(({ role }: Any) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
      ])
      expect(messages[1].tool_calls[0].function.name).toBe(tool.calls)
      expect(messages[2].tool_call_id).toBe(messages[1].tool_calls[0].id)
      expect(messages[2].content).toMatch(tool.result)
    })
  }
})

test.each(modes)(
  'a call of an MCP server that the user approves runs once, in all later requests: %s',
  async (mode) => {
    const tools = [{ type: 'mcp', ...mcpServer, require_approval: 'always' }]
    const ask = (history: Any[]) => send.responses(tools, history, mode === 'streamed')
    const before = site.countCalls()
    lab().next.push(callOf('notes__find', { title: 'safe' }), text, text)
    const asked = await ask([question])
    expect(asked.types).toEqual(['mcp_list_tools', 'mcp_approval_request'])
    const { id } = asked.history.at(-1)
    const approval = { type: 'mcp_approval_response', approval_request_id: id, approve: true }
    const approved = await ask([...asked.history, approval])
    expect(approved.differences).toEqual([])
    expect(approved.types).toEqual(['mcp_list_tools', 'mcp_call'])
    expect(approved.history.find(({ type }) => type === 'mcp_call')).toMatchObject({
      approval_request_id: id,
    })
    await ask([...approved.history, { role: 'user', content: follow }])
    expect(site.countCalls() - before).toBe(1)
    const { messages } = lab().lastRequest().json as Any
    expect(messages.map(({ role }: Any) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    expect(messages[2].content).toBe('The note says 4711.')
  },
)

test.each(formats)('an earlier call has the name that the model knows now: %s', async (format) => {
  const schema = { type: 'object', properties: {} }
  const own = { chat: { type: 'function', function: { name: 'datetime', parameters: schema } } }
  const others = { responses: { type: 'function', name: 'datetime', parameters: schema } }
  const tools = [
    { type: 'service:datetime' },
    { ...own, ...others, messages: { name: 'datetime', input_schema: schema } }[format],
  ]
  lab().next.push(callOf('datetime_2'), text, text)
  const reply = await send[format](tools, [question], false)
  await send[format](tools, [...reply.history, { role: 'user', content: follow }], false)
  const { messages } = lab().lastRequest().json as Any
  expect(messages[1].tool_calls[0].function.name).toBe('datetime_2')
})

test.each(['chat', 'responses'] as const)(
  'advisors with names remember what they said: %s',
  async (format) => {
    const named = (name: string) => ({
      type: 'service:advisor',
      parameters: { name, model: modelOf('messages') },
    })
    for (const tools of [[named('a')], [named('a'), named('b')]]) {
      const advice = (words: string) => () => ({ json: adviceOf(words) })
      lab().next.push(callOf('advisor_a', { prompt: 'First?' }), advice('Wait.'), text)
      const reply = await send[format](tools, [question], false)
      lab().next.push(callOf('advisor_a', { prompt: 'Second?' }), advice('Go.'), text)
      const requests = await lab().requestsDuring(() =>
        send[format](tools, [...reply.history, { role: 'user', content: follow }], false),
      )
      const { messages } = requests[1]!.json as Any
      expect(messages.map(({ role }: Any) => role)).toEqual(['user', 'assistant', 'user'])
      expect(JSON.stringify(messages)).toMatch(/First\?.*Wait\..*Second\?/)
    }
  },
)

test('all calls of a streamed chat reply are in the message of the OpenAI SDK', async () => {
  lab().next.push(callOf('datetime'), callOf('datetime'), text, text)
  const tools = [{ type: 'service:datetime' }]
  const reply = await send.chat(tools, [question], true)
  expect(reply.types).toEqual(['reasoning.server_tool_call', 'reasoning.server_tool_call'])
  await send.chat(tools, [...reply.history, { role: 'user', content: follow }], true)
  const { messages } = lab().lastRequest().json as Any
  expect(messages.filter(({ role }: Any) => role === 'tool')).toHaveLength(2)
})

/** A reply of the Messages format. */
function adviceOf(words: string): object {
  const content = [{ type: 'text', text: words }]
  const usage = { input_tokens: 1, output_tokens: 1 }
  return { id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage }
}

function typesIn(format: Format, { items = [], blocks = [] }: ToolCase): string[] {
  if (format === 'chat') return ['reasoning.server_tool_call']
  return format === 'responses' ? items : blocks
}
