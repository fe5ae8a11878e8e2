// The lower bound of a gateway on this runtime: it parses the request and reads the usage of the reply.
const upstream = `http://127.0.0.1:${process.argv[2]}`

interface Usage {
  total_tokens: number
}

let tokens = 0

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  routes: {
    '/v1/chat/completions': { POST: (request) => relay(request, '/v1/chat/completions') },
    '/v1/embeddings': { POST: (request) => relay(request, '/v1/embeddings') },
    '/v1/images/generations': { POST: relayImage },
    '/tokens': () => new Response(String(tokens)),
  },
})
process.stdout.write(`listening on ${server.port}\n`)

async function relay(request: Bun.BunRequest, path: string): Promise<Response> {
  const text = await request.text()
  const requestBody = JSON.parse(text) as { stream?: boolean }
  const reply = await fetch(upstream + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: text,
    // Without it, a stream whose client disconnected stays open until its next event.
    signal: request.signal,
  })
  if (requestBody.stream && reply.body) {
    return new Response(events(reply.body), { headers: { 'content-type': 'text/event-stream' } })
  }
  const responseText = await reply.text()
  addUsage((JSON.parse(responseText) as { usage?: Usage }).usage)
  return new Response(responseText, { headers: { 'content-type': 'application/json' } })
}

/** The same bytes, unread. */
async function relayImage(request: Bun.BunRequest): Promise<Response> {
  const reply = await fetch(`${upstream}/v1/images/generations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: await request.text(),
    signal: request.signal,
  })
  return new Response(reply.body, { headers: { 'content-type': 'application/json' } })
}

/** Forwards each chunk; a generator, because only that applies backpressure to the upstream. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = parts.pop() ?? ''
    for (const event of parts) {
      if (event.includes('"usage"'))
        addUsage((JSON.parse(event.slice('data: '.length)) as { usage?: Usage }).usage)
    }
    yield chunk
  }
}

function addUsage(usage: Usage | undefined): void {
  tokens += usage?.total_tokens ?? 0
}
