import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { acceptsEncoding } from '../../platform/http/accept-encoding.ts'

/** The manifest that `console/build.ts` writes. */
const manifestSchema = z.object({
  script: z.string(),
  styles: z.array(z.string()),
  /** The file of the font that nearly every screen needs. */
  font: z.string().optional(),
  /** The further scripts of the screen at `/`. */
  preload: z.array(z.string()).default([]),
  files: z.record(z.string(), z.object({ type: z.string(), encodings: z.array(z.string()) })),
})

export type ConsoleManifest = z.output<typeof manifestSchema>

const suffixes: Record<string, string> = { br: '.br', gzip: '.gz' }

/** The built console on disk. Nothing is read before somebody opens it. */
export class ConsoleFiles {
  readonly #folder: string
  #manifest: ConsoleManifest | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Null until the console has been built. Read again at each visit: it may have been rebuilt. */
  async readManifest(): Promise<ConsoleManifest | null> {
    const text = await readFile(`${this.#folder}/manifest.json`, 'utf8').catch(() => null)
    this.#manifest = text === null ? null : manifestSchema.parse(JSON.parse(text))
    return this.#manifest
  }

  /** A file with a hash in its name, which browsers keep; undefined if the console has no such file. */
  async findAsset(name: string, acceptEncoding: string): Promise<Response | undefined> {
    const manifest = this.#manifest ?? (await this.readManifest())
    const file = manifest && Object.hasOwn(manifest.files, name) ? manifest.files[name] : undefined
    if (!file) return undefined
    const encoding = file.encodings.find((candidate) => acceptsEncoding(acceptEncoding, candidate))
    const path = `${this.#folder}/assets/${name}${encoding ? suffixes[encoding] : ''}`
    return new Response(Bun.file(path), {
      headers: {
        'content-type': file.type,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
        ...(encoding && { 'content-encoding': encoding }),
      },
    })
  }
}
