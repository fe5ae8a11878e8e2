import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { SiteContent } from './tools.ts'

/** A search engine, a site with one page, and an MCP server with one tool, which record what they are sent. */
export class ToolSite {
  readonly received: string[] = []
  content: SiteContent = {}
  readonly #server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => this.#serve(request) })

  get host(): string {
    return `127.0.0.1:${this.#server.port}`
  }

  get origin(): string {
    return `http://${this.host}`
  }

  stop(): void {
    void this.#server.stop(true)
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    this.received.push(`${decodeURIComponent(request.url)} ${await request.clone().text()}`)
    if (pathname === '/mcp') return this.#serveTools(request)
    const { url = 'https://site.test/', title = 'A title', text = 'A text.' } = this.content
    if (pathname === '/search') return Response.json({ results: [{ url, title, text }] })
    const html = `<html><title>${title}</title><body><p>${text}</p></body></html>`
    return new Response(html, { headers: { 'content-type': 'text/html' } })
  }

  async #serveTools(request: Request): Promise<Response> {
    const { name = 'find', description = 'Finds a note.', property = 'Its title.' } = this.content.tool ?? {}
    const { result = 'A note.', isError = false } = this.content.tool ?? {}
    const server = new McpServer({ name: 'notes', version: '1' })
    const inputSchema = z.object({ title: z.string().describe(property) })
    server.registerTool(name, { description, inputSchema }, async () => ({
      content: [{ type: 'text', text: result }],
      isError,
    }))
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    return transport.handleRequest(request)
  }
}
