import { resolve } from 'node:path'

/** Command that starts the server and its commands: compiled, if `npm test` did so, or from source. */
export const program: readonly string[] = process.env.TEST_PROGRAM
  ? [process.env.TEST_PROGRAM]
  : [process.execPath, '--no-env-file', resolve('src/cli.ts')]
