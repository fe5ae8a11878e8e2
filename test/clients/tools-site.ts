import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** The servers of server tools: a search engine, a page and an MCP server, on loopback. */
export interface ToolsSite {
  pageUrl: string
  mcpUrl: string
  /** URL that the engine finds. */
  sourceUrl: string
  /** Settings of the gateway that uses them. */
  settings: object
  /** Counts the calls of a tool of the MCP server. */
  countCalls(): number
  stop(): Promise<void>
}

let calls = 0
const found = 'High water at 14:05.'
const sourceUrl = 'https://tides.test/now'

export function startSite(): ToolsSite {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve })
  const origin = `http://127.0.0.1:${server.port}`
  return {
    pageUrl: `${origin}/page`,
    mcpUrl: `${origin}/mcp`,
    sourceUrl,
    settings: {
      egress: { allow_private: [`127.0.0.1:${server.port}`] },
      web: { engines: { exa: { api_key: 'engine-key', base_url: origin } } },
    },
    countCalls: () => calls,
    stop: () => server.stop(true),
  }
}

async function serve(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === '/mcp') return serveMcp(request)
  if (pathname === '/page')
    return new Response('Text of the page', { headers: { 'content-type': 'text/plain' } })
  const results = [sourceUrl, 'https://harbour.test'].map((url) => ({ url, title: 'Tides', text: found }))
  return Response.json({ results })
}

async function serveMcp(request: Request): Promise<Response> {
  const server = new McpServer({ name: 'notes', version: '1' })
  const inputSchema = z.object({ title: z.string() })
  server.registerTool('find', { description: 'Finds a note.', inputSchema }, async () => {
    calls++
    return { content: [{ type: 'text', text: 'The note says 4711.' }] }
  })
  server.registerTool('delete', { description: 'Deletes a note.', inputSchema }, async () => {
    calls++
    return { content: [{ type: 'text', text: 'no such note' }], isError: true }
  })
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  return transport.handleRequest(request)
}
