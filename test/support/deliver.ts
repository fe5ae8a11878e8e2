import type { Destination, DestinationConfig } from '../../src/delivery/destinations/destination.ts'
import type { GenerationEvent } from '../../src/delivery/destinations/event.ts'
import { type EgressRequest, sendBuffered } from '../../src/platform/http/egress-client.ts'

export interface Delivery {
  status: number
  body: string
  /** Failure of the destination according to the response. */
  failure: string | undefined
}

/** A destination with a config, whose requests can be sent to a server on loopback. */
export class TestDestination {
  readonly config: DestinationConfig
  readonly #kind: Destination

  constructor(kind: Destination, config: DestinationConfig) {
    this.#kind = kind
    this.config = kind.config.parse(config) as DestinationConfig
  }

  get target(): string {
    return this.#kind.target(this.config) ?? ''
  }

  get exporter() {
    const { exporter } = this.#kind
    if (!exporter) throw new Error(`${this.#kind.type} has no exporter`)
    return exporter
  }

  async encode(...events: GenerationEvent[]): Promise<EgressRequest> {
    return this.exporter.encode(this.config, this.target, events, Date.now())
  }

  async deliver(events: GenerationEvent[], origin?: string): Promise<Delivery> {
    return this.#send(await this.encode(...events), origin)
  }

  async probe(origin?: string): Promise<Delivery> {
    const { request } = await this.#kind.probe(this.config, this.target)
    return this.#send(request, origin)
  }

  /** Sends a request like a delivery, but only ever to loopback. */
  async #send(request: EgressRequest, origin?: string): Promise<Delivery> {
    const url = new URL(request.url)
    const { host, href } = new URL(url.pathname + url.search, origin ?? url.origin)
    if (!host.startsWith('127.0.0.1:')) throw new Error(`${host} is not on loopback`)
    const options = { allowPrivate: [host], timeoutMs: 30_000, maxBytes: 1024 * 1024 }
    const { status, bytes } = await sendBuffered({ ...request, url: href }, options)
    const body = new TextDecoder().decode(bytes)
    return { status, body, failure: this.exporter.findFailure?.(status, body) }
  }
}

/** The blocks of a language in a page of docs. */
export async function readCodeBlocks(page: string, language: string): Promise<string[]> {
  const text = await Bun.file(page).text()
  const fence = new RegExp(`^( *)\`\`\`${language}\\n(.*?)^\\1\`\`\``, 'gms')
  return [...text.matchAll(fence)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}
