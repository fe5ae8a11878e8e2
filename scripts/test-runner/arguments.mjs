// The arguments of `npm test`.

export const usage = `npm test                              everything, on SQLite and PostgreSQL
npm test -- <path or word>...         the test files in a folder, or whose path has the word
npm test -- --changed [ref]           those that what changed since ref (default: HEAD) reaches, after the checks
npm test -- <path> -t <pattern>       only tests whose name matches

--shuffle[=seed]      files in a random order, which the printed seed repeats
--repeat <n>          n times in a row
--workers <n>         processes that run files (default: three for two cores)
--update-timings      writes test/timings.json, by which the longest files start first
--checks-only         types, lint, format, shape and migrations, without tests
`

const flags = {
  '--changed': (options, value) => ({ ...options, changed: value ?? 'HEAD' }),
  '--shuffle': (options, value) => ({ ...options, seed: value === undefined ? null : readCount(value) }),
  '--repeat': (options, value) => ({ ...options, repeat: readCount(value) }),
  '--workers': (options, value) => ({ ...options, workers: readCount(value) }),
  '--update-timings': (options) => ({ ...options, updatesTimings: true }),
  '--checks-only': (options) => ({ ...options, checksOnly: true }),
  '-t': (options, value) => ({ ...options, pattern: value }),
}
const needValue = ['--repeat', '--workers', '-t']
/** Flags whose value may be the next argument. */
const takeNext = [...needValue, '--changed']

/** `seed` is undefined without `--shuffle`, and null where it is to be chosen. Throws on what is not known. */
export function readArguments(args) {
  let options = { words: [], repeat: 1 }
  const waiting = [...args]
  for (let argument = waiting.shift(); argument !== undefined; argument = waiting.shift()) {
    if (!argument.startsWith('-')) {
      options = { ...options, words: [...options.words, argument] }
      continue
    }
    const [name, ...rest] = argument.split('=')
    const apply = flags[name]
    if (!apply) throw new Error(`Unknown: ${name}.\n\n${usage}`)
    const isFollowed = takeNext.includes(name) && rest.length === 0 && waiting[0]?.startsWith('-') === false
    const value = isFollowed ? waiting.shift() : rest.length > 0 ? rest.join('=') : undefined
    if (needValue.includes(name) && value === undefined) throw new Error(`${name} needs a value.\n\n${usage}`)
    options = apply(options, value)
  }
  return options
}

function readCount(text) {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new Error(`${text} is not a whole number above 0.\n\n${usage}`)
  return count
}
