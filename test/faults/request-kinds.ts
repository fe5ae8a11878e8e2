import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { bwrapPath, formatContainerSettings } from '../support/containers.ts'
import { buildPdf } from '../support/pdf.ts'

/** One kind of request, as its client sends it. */
export interface RequestKind {
  name: string
  path: string
  body: object
  /** Defaults to 200. */
  status?: number
  /** Whether it is also sent with `stream: true`. */
  streams?: boolean
  /** The client disconnects: when an upstream or the site has its request, or after the first bytes of the response. */
  leaves?: 'upstream' | 'site' | 'reply'
  /** Starts processes, and is slower than others. */
  isSlow?: boolean
  /** Text of the response that proves that the request did what its name says. */
  proof?: string
}

/**
 * A search engine, a page, an MCP server and an address that never responds: one server for all files of the process.
 */
const site = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serveSite })
site.unref()
const origin = `http://127.0.0.1:${site.port}`

let hanging = 0
/** The requests so far that get no response. */
export const countHanging = () => hanging

async function serveSite(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === '/hang') {
    hanging++
    return new Promise<Response>((resolve) =>
      request.signal.addEventListener('abort', () => resolve(new Response())),
    )
  }
  if (pathname === '/page')
    return new Response('<title>A page</title><p>Text of the page.</p>', {
      headers: { 'content-type': 'text/html' },
    })
  if (pathname === '/mcp') return serveMcp(request)
  return Response.json({ results: [{ url: 'https://tides.test/', title: 'Tides', text: 'High water.' }] })
}

async function serveMcp(request: Request): Promise<Response> {
  const server = new McpServer({ name: 'notes', version: '1' })
  const inputSchema = z.object({ title: z.string() })
  server.registerTool('find', { description: 'Finds a note.', inputSchema }, async () => ({
    content: [{ type: 'text', text: 'The note says 4711.' }],
  }))
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  return transport.handleRequest(request)
}

const pricing = { prompt: '0.000000001', completion: '0.000000001' }
const supported_parameters = ['tools', 'tool_choice', 'max_tokens', 'response_format', 'structured_outputs']

function declareModel(name: string) {
  const endpoints = [{ provider: 'sandbox', upstream_model: 'echo', pricing }]
  return { id: `test/${name}`, name, supported_parameters, endpoints }
}

const models = ['outer', 'inner', 'judge'].map(declareModel)

/** The text of headgate.yaml: every line is JSON, except that of containers. */
export const settings = [
  `egress: ${JSON.stringify({ allow_private: [`127.0.0.1:${site.port}`] })}`,
  `web: ${JSON.stringify({ engine: 'exa', engines: { exa: { api_key: 'key', base_url: origin } } })}`,
  `moderation: ${JSON.stringify({ model: 'sandbox/moderator' })}`,
  `routers: ${JSON.stringify({
    allowed_models: ['test/*'],
    switchyard: { weak: ['test/inner'], strong: ['test/outer'], judge: 'test/judge' },
  })}`,
  `models: ${JSON.stringify(models)}`,
  formatContainerSettings(),
].join('\n')

const model = 'test/outer'
const hello = [{ role: 'user', content: 'Hello' }]

const plainKinds: RequestKind[] = [
  { name: 'chat', path: '/chat/completions', body: { model, messages: hello }, streams: true },
  { name: 'messages', path: '/messages', body: { model, max_tokens: 50, messages: hello }, streams: true },
  { name: 'responses', path: '/responses', body: { model, input: 'Hello' }, streams: true },
  { name: 'completions', path: '/completions', body: { model, prompt: 'Hello' }, streams: true },
  { name: 'count tokens', path: '/messages/count_tokens', body: { model, messages: hello } },
  { name: 'quote', path: '/quote', body: { model, messages: hello } },
  { name: 'embeddings', path: '/embeddings', body: { model: 'sandbox/embedder', input: 'x', dimensions: 4 } },
  { name: 'rerank', path: '/rerank', body: { model: 'sandbox/reranker', query: 'a', documents: ['a', 'b'] } },
  { name: 'moderations', path: '/moderations', body: { model: 'sandbox/moderator', input: 'Hello' } },
  { name: 'images', path: '/images', body: { model: 'sandbox/painter', prompt: 'Hi' }, isSlow: true },
  { name: 'speech', path: '/audio/speech', body: { model: 'sandbox/speaker', input: 'Hi', voice: 'low' } },
]

function defineChat(name: string, content: string, more: Partial<RequestKind> = {}): RequestKind {
  const messages = [{ role: 'user', content }]
  return { name, path: '/chat/completions', ...more, body: { model, messages, ...more.body } }
}

const failingKinds: RequestKind[] = [
  defineChat('error of the provider', 'sandbox:error=500', { status: 502, streams: true }),
  defineChat('broken reply', 'one two three sandbox:break=1', {
    streams: true,
    proof: '"finish_reason":"error"',
  }),
  defineChat('invalid body', 'Hello', { body: { temperature: 'warm' }, status: 400 }),
  defineChat('client that leaves', 'Hello sandbox:quiet=60000', { leaves: 'upstream', streams: true }),
  defineChat('client that leaves a stream', 'Hello there sandbox:slow=60000', {
    leaves: 'reply',
    body: { stream: true },
  }),
]

/** A server tool on the Responses format. */
function defineTool(name: string, input: string, parameters: object, more: Partial<RequestKind> = {}) {
  const tools = [{ type: `service:${name}`, parameters }]
  const kind = {
    name: `tool ${name}`,
    proof: `"status":"completed","type":"service:${name}"`,
    streams: true,
    ...more,
  }
  return { path: '/responses', ...kind, body: { model, input, tools, ...more.body } } satisfies RequestKind
}

const environment = { type: 'container_auto' }
const mcp = { type: 'mcp', server_label: 'notes', server_url: `${origin}/mcp`, require_approval: 'never' }
const fusion = { analysis_models: ['test/inner'], model: 'test/judge' }
const page = { body: { tool_choice: 'required' } }
const hang = `${origin}/hang`

export const toolKinds: RequestKind[] = [
  defineTool('advisor', 'Ask the advisor now', { model: 'test/inner' }),
  defineTool('apply_patch', 'Use apply_patch', {}, { proof: 'operation.diff: is required' }),
  defineTool('datetime', 'Use datetime', {}),
  defineTool('fusion', 'Ask fusion now', fusion),
  defineTool('image_generation', 'image_generation now', { model: 'sandbox/painter' }, { isSlow: true }),
  defineTool('mcp', 'Use notes__find', {}, { body: { tools: [mcp] }, proof: '4711', isSlow: true }),
  defineTool('experimental__search_models', 'Use search_models', {}, { isSlow: true }),
  defineTool('subagent', 'Let subagent use datetime', {
    model: 'test/inner',
    tools: [{ type: 'service:datetime' }],
  }),
  defineTool('tool_search', 'Use tool_search', {}),
  defineTool('web_fetch', `${origin}/page`, {}, page),
  defineTool('web_search', 'Use web_search', {}),
  defineTool(
    'bash',
    '',
    { engine: 'service' },
    {
      path: '/messages',
      body: { max_tokens: 50, messages: [{ role: 'user', content: 'bash' }] },
      isSlow: true,
      proof: 'bash_tool_result',
    },
  ),
  defineTool('files', 'Use files', {}, { proof: 'service:files' }),
  defineTool('shell', 'shell', { environment }, { isSlow: true }),
].filter(({ name }) => bwrapPath !== null || !/bash|shell/.test(name))

/** The client disconnects while a tool runs, or before its tools are known. */
const leftToolKinds: RequestKind[] = [
  defineTool('web_fetch', hang, {}, { ...page, name: 'client that leaves a tool', leaves: 'site' }),
  defineTool(
    'mcp',
    'Hello',
    {},
    {
      body: { tools: [{ ...mcp, server_url: hang }] },
      name: 'client that leaves a list of tools',
      leaves: 'site',
    },
  ),
  defineTool(
    'advisor',
    'Ask the advisor sandbox:quiet=60000',
    { model: 'test/inner' },
    {
      name: 'client that leaves a nested request',
      leaves: 'upstream',
    },
  ),
]

function definePlugin(id: string, more: Partial<RequestKind> = {}, parameters: object = {}): RequestKind {
  const plugins = [{ id, ...parameters }]
  return defineChat(`plugin ${id}`, 'Hello', { ...more, body: { plugins, ...more.body } })
}

const file_data = `data:application/pdf;base64,${buildPdf(['Due on Friday.']).toString('base64')}`
const question = [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data } }] }]
const json = { response_format: { type: 'json_object' } }

export const pluginKinds: RequestKind[] = [
  definePlugin('auto-router', { body: { model: 'service/auto' }, streams: true }),
  definePlugin('auto-beta-router', { body: { model: 'service/auto-beta' } }),
  definePlugin('pareto-router', { body: { model: 'service/pareto-code' } }),
  definePlugin('switchyard-router', { body: { model: 'service/switchyard' } }, { algorithm: 'capability' }),
  definePlugin('fusion', { body: { model: 'service/fusion' } }, fusion),
  definePlugin('moderation'),
  definePlugin('web', { streams: true, proof: 'tides.test' }),
  definePlugin('web-fetch', { body: { messages: [{ role: 'user', content: `${origin}/page` }] } }),
  definePlugin('file-parser', { body: { messages: question } }, { pdf: { engine: 'pdf-text' } }),
  definePlugin('context-compression'),
  definePlugin('response-healing', { body: json }),
]

function streamed(kind: RequestKind): RequestKind {
  return { ...kind, name: `${kind.name}, streamed`, body: { ...kind.body, stream: true } }
}

/** Kinds of all requests that a client can send to a model. */
export const requestKinds: RequestKind[] = [
  ...plainKinds,
  ...failingKinds,
  ...toolKinds,
  ...leftToolKinds,
  ...pluginKinds,
].flatMap((kind) => (kind.streams ? [kind, streamed(kind)] : [kind]))
