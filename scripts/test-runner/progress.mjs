// Which files of a run have started and ended, and how long it will take.
import { existsSync, readFileSync } from 'node:fs'

/** The progress of a run, from the log that test/support/file-times.ts writes. */
export class Progress {
  #path
  #files
  #timings
  #startedAt = Date.now()
  #started = new Map()
  #took = new Map()
  #processes = new Map()
  #position = 0

  /** `timings`: how many milliseconds files took before. */
  constructor(path, files, timings) {
    this.#path = path
    this.#files = files
    this.#timings = timings
  }

  /** Reads on; returns the files that ended since. */
  read() {
    const text = existsSync(this.#path) ? readFileSync(this.#path, 'utf8') : ''
    const end = text.lastIndexOf('\n') + 1
    const ended = []
    for (const line of text.slice(this.#position, end).split('\n')) {
      const [, event, at, cpu, pid, file] = /^(start|end) (\d+) (\d+) (\d+) (.+)$/.exec(line) ?? []
      if (event === 'start') {
        this.#started.set(file, { at: Number(at), cpu: Number(cpu) })
        this.#processes.set(file, Number(pid))
      }
      if (event === 'end') ended.push(this.#end(file, { at: Number(at), cpu: Number(cpu) }))
    }
    this.#position = end
    return ended
  }

  #end(file, { at, cpu }) {
    const start = this.#started.get(file) ?? { at, cpu }
    this.#took.set(file, { ms: at - start.at, cpuMs: cpu - start.cpu })
    this.#started.delete(file)
    return file
  }

  /** The id of the process that ran the file, or runs it. */
  processOf(file) {
    return this.#processes.get(file)
  }

  get running() {
    return [...this.#started.keys()]
  }

  describe(failed) {
    const parts = [`${this.#took.size} of ${this.#files.length} files`]
    if (failed > 0) parts.push(`${failed} failed`)
    const left = this.estimateLeftMs()
    if (left !== null) parts.push(`about ${formatTime(left)} left`)
    if (this.running.length > 0) parts.push(`running ${this.running.join(', ')}`)
    return parts.join('; ')
  }

  /** Estimates from earlier times of files, and the time of the part that is done; null until that is meaningful. */
  estimateLeftMs() {
    const now = Date.now()
    const expected = (file) => this.#timings[file] ?? 0
    const sum = (times) => times.reduce((total, ms) => total + ms, 0)
    const begun = [...this.#started].map(([file, { at }]) => Math.min(expected(file), now - at))
    const done = sum([...this.#took.keys()].map(expected)) + sum(begun)
    if (done < 30_000) return null
    return ((sum(this.#files.map(expected)) - done) * (now - this.#startedAt)) / done
  }

  listSlowest(count) {
    return [...this.#took].sort(([, a], [, b]) => b.ms - a.ms).slice(0, count)
  }
}

export function formatTime(ms) {
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
