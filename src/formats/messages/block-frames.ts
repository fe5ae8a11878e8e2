import type { JsonObject } from '../../platform/json/json-values.ts'

/** Events of content blocks. One block is open at a time; blocks are numbered in the order they start. */
export class BlockFrames {
  #index = -1
  isOpen = false

  open(block: JsonObject): string {
    this.isOpen = true
    this.#index++
    return formatFrame('content_block_start', { index: this.#index, content_block: block })
  }

  /** Writes streamed text: `field` is the member of the delta that carries it. */
  writeTextDelta(type: string, field: string, text: string): string {
    const delta = `{"type":"${type}","${field}":${JSON.stringify(text)}}`
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":${delta}}\n\n`
  }

  writeDelta(delta: JsonObject): string {
    return formatFrame('content_block_delta', { index: this.#index, delta })
  }

  close(): string {
    if (!this.isOpen) return ''
    this.isOpen = false
    return formatFrame('content_block_stop', { index: this.#index })
  }

  writeBlock(block: JsonObject): string {
    return this.open(block) + this.close()
  }
}

export function formatFrame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
