import type { CheckpointOperation } from './engine.ts'

export interface CheckpointSource {
  /** The progress of a reply as JSON, or null when it has not changed since the last call. */
  buildCheckpoint(): string | null
}

/** Writes the progress of replies under way, so that a crash does not lose what was produced. */
export class CheckpointTracker {
  readonly #sources = new Map<string, CheckpointSource>()
  readonly #writing = new Set<string>()

  track(id: string, source: CheckpointSource): void {
    this.#sources.set(id, source)
  }

  untrack(id: string): void {
    this.#sources.delete(id)
  }

  /** Writes changed checkpoints; at most one per reply waits to be written. */
  writeAll(write: (op: CheckpointOperation) => Promise<unknown>): void {
    for (const [id, source] of this.#sources) {
      if (this.#writing.has(id)) continue
      const checkpoint = source.buildCheckpoint()
      if (checkpoint === null) continue
      this.#writing.add(id)
      const done = () => void this.#writing.delete(id)
      void write({ op: 'note', id, checkpoint }).then(done, done)
    }
  }
}
