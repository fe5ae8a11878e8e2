// Reads the output of `bun test` and shows what failed.

const header = /^(\S+\.test\.tsx?):$/
const result = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/
const unhandled = '# Unhandled error between tests'
/** Bun repeats them at its end, without their files. */
const repetition = /^\d+ tests? (?:failed|skipped):$/
const total = /^\s*(\d+) (pass|fail|skip|errors?)$/
/** The end of what the tests of one file print. */
const maxLines = 300

/**
 * Results of several processes that write at once: an error may follow the line of its test, but always under its file.
 */
export class Results {
  #show
  #file = ''
  #rest = ''
  #isRepeated = false
  /** Lines that files printed besides results. */
  #lines = new Map()
  #failedFiles = new Set()
  #totals = {}
  failed = 0

  /** `show` prints a text. */
  constructor(show) {
    this.#show = show
  }

  add(chunk) {
    const lines = `${this.#rest}${chunk}`.split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#read(line)
  }

  #read(line) {
    const file = header.exec(line)?.[1]
    const [, outcome, name] = result.exec(line) ?? []
    const [, count, word] = total.exec(line) ?? []
    if (repetition.test(line)) this.#isRepeated = true
    else if (file) this.#file = file
    else if (outcome === 'fail' && !this.#isRepeated) this.#fail(name)
    else if (count) this.#totals[word.replace('errors', 'error')] = Number(count)
    else if (!outcome) this.#keep(line)
  }

  #keep(line) {
    if (line === unhandled) this.#failedFiles.add(this.#file)
    const lines = this.#lines.get(this.#file) ?? []
    lines.push(line)
    if (lines.length > maxLines) lines.shift()
    this.#lines.set(this.#file, lines)
  }

  #fail(name) {
    this.failed++
    this.#failedFiles.add(this.#file)
    this.#show(`FAILED ${this.#file}: ${name}\n  ${repeatCommand(this.#file, name)}\n`)
  }

  /** Shows what a file printed if it failed; forgets it. */
  end(file) {
    const lines = this.#lines.get(file) ?? []
    const text = lines.join('\n').trim()
    if (text !== '' && this.#failedFiles.has(file)) this.#show(`\n${file}:\n${text}\n\n`)
    this.#lines.delete(file)
  }

  /** Sums up after the process ended with a status. A run that crashed, or had no test, failed whatever it counted. */
  finish(status) {
    for (const file of this.#failedFiles) if (this.#lines.has(file)) this.end(file)
    const { pass = 0, fail = 0, skip = 0, error = 0 } = this.#totals
    const failed = fail + error
    const isBroken = failed === 0 && (status !== 0 || pass === 0)
    if (isBroken)
      this.#show(
        `${(this.#lines.get(this.#file) ?? []).join('\n')}\nThe tests ended with status ${status}.\n`,
      )
    return { passed: pass, failed: isBroken ? 1 : failed, skipped: skip, files: [...this.#failedFiles] }
  }
}

/** Runs one test again. Bun joins the names of its groups with a space, and printed them with ` > `. */
export function repeatCommand(file, name) {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' > ', ' (> )?')
  return `npm test -- ${file} -t '${pattern.replaceAll("'", "'\\''")}'`
}
