/** Characters of a line, far more than any event has: a server that sends no line end must not fill the memory. */
const maxLineLength = 32_000_000

/** Parses a stream of server-sent events that arrives in pieces. */
export class EventParser {
  #rest = ''
  #data: string[] = []

  /** Returns the data of the events that are complete. */
  push(text: string): string[] {
    // A carriage return at the end may be the first half of a line end.
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > maxLineLength) throw new Error('The server sent an event that is too long.')
    return lines.flatMap((line) => this.#readLine(line))
  }

  #readLine(line: string): string[] {
    if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5))
    if (line !== '' || this.#data.length === 0) return []
    const data = this.#data.join('\n')
    this.#data = []
    return [data]
  }
}

/** The data of each event of a reply. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parser = new EventParser()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      yield* parser.push(decoder.decode(read.value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
