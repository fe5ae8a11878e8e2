// Reads the output of `bun test` and shows what failed.

const header = /^(\S+\.test\.tsx?):$/
const result = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/
const unhandled = '# Unhandled error between tests'
const crash = /^✗ (\S+) \(worker crashed: /
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
  /** Results of each file. */
  #counts = new Map()
  /** Files that failed since one of them left its process in an unknown state, that one first. */
  #suspects = new Set()
  /** Those whose processes should not go on; the runner removes them. */
  breaks = new Set()
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
    const crashed = crash.exec(line)?.[1]
    if (repetition.test(line)) this.#isRepeated = true
    else if (file) this.#file = file
    else if (crashed) this.#crash(crashed, line)
    else if (outcome && !this.#isRepeated) this.#end(outcome, name)
    else if (count) this.#totals[word.replace('errors', 'error')] = Number(count)
    else if (!outcome) this.#keep(line)
  }

  #keep(line) {
    if (line === unhandled) this.#break(this.#file)
    const lines = this.#lines.get(this.#file) ?? []
    lines.push(line)
    if (lines.length > maxLines) lines.shift()
    this.#lines.set(this.#file, lines)
  }

  #end(outcome, name) {
    this.#count(this.#file, outcome)
    if (outcome === 'fail') this.#fail(name)
  }

  #count(file, outcome) {
    const counts = this.#counts.get(file) ?? { pass: 0, fail: 0, skip: 0, todo: 0 }
    counts[outcome]++
    this.#counts.set(file, counts)
  }

  #crash(file, line) {
    this.#count(file, 'fail')
    this.#break(file)
    this.#show(`FAILED ${file}\n  ${line}\n`)
  }

  /** The tests of a file did not all run, and what its process runs next may fail because of it. */
  #break(file) {
    this.#failedFiles.add(file)
    this.#suspects.add(file)
    this.breaks.add(file)
  }

  #fail(name) {
    this.failed++
    this.#failedFiles.add(this.#file)
    if (this.#suspects.size > 0) this.#suspects.add(this.#file)
    this.#show(`FAILED ${this.#file}: ${name}\n  ${repeatCommand(this.#file, name)}\n`)
  }

  /** Shows what a file printed if it failed; forgets it. */
  end(file) {
    const lines = this.#lines.get(file) ?? []
    const text = lines.join('\n').trim()
    if (text !== '' && this.#failedFiles.has(file)) this.#show(`\n${file}:\n${text}\n\n`)
    this.#lines.delete(file)
  }

  /** The files that failed since the first break, and the results of all others. */
  get interruption() {
    const others = [...this.#counts].filter(([file]) => !this.#suspects.has(file))
    const sum = (outcome) => others.reduce((total, [, counts]) => total + counts[outcome], 0)
    const rest = { passed: sum('pass'), failed: sum('fail'), skipped: sum('skip') }
    return { suspects: [...this.#suspects], rest }
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

/**
 * What a run proves whose files failed after one of them had left an error outside of its tests: the results of all other
 * files, and those of the second run of these. Null if nothing has to run again.
 */
export function findInterruption(results, { files }) {
  const { suspects, rest } = results.interruption
  if (suspects.length === 0) return null
  const [first] = suspects
  const combine = (second) => ({
    passed: rest.passed + second.passed,
    // The error remains one, also if all succeed now.
    failed: rest.failed + Math.max(1, second.failed),
    skipped: rest.skipped + second.skipped,
    files: [...new Set([first, ...files.filter((file) => !suspects.includes(file)), ...second.files])],
  })
  return { first, files: suspects, combine }
}

/** Runs one test again. Bun joins the names of its groups with a space, and printed them with ` > `. */
export function repeatCommand(file, name) {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' > ', ' (> )?')
  return `npm test -- ${file} -t '${pattern.replaceAll("'", "'\\''")}'`
}
