import { emitKeypressEvents, type Key } from 'node:readline'
import { isatty, ReadStream } from 'node:tty'

const maxLength = 1000

/** Whether standard input is a terminal, and no file is read from it. */
export function canPrompt(files: readonly string[]): boolean {
  return isatty(0) && isatty(2) && !files.includes('-')
}

/** Reads a secret from the terminal, without showing it; null if none is entered. */
export async function promptSecret(question: string): Promise<string | null> {
  const input = new ReadStream(0)
  input.setRawMode(true)
  emitKeypressEvents(input)
  process.stderr.write(question)
  try {
    const secret = await readSecret(input)
    return secret === '' ? null : secret
  } finally {
    input.setRawMode(false)
    input.destroy()
    process.stderr.write('\n')
  }
}

export function readSecret(input: NodeJS.EventEmitter): Promise<string> {
  return new Promise((resolve) => {
    let secret = ''
    const finish = (value: string) => {
      input.removeListener('keypress', onKey)
      resolve(value)
    }
    const onKey = (text: string | undefined, { name, ctrl, sequence = '' }: Key) => {
      if (ctrl && name === 'c') finish('')
      else if (name === 'return' || name === 'enter' || (ctrl && name === 'd')) finish(secret)
      else if (name === 'backspace') secret = secret.slice(0, -1)
      else if (!ctrl && text !== undefined && !sequence.startsWith('\u001b'))
        secret = (secret + text).slice(0, maxLength)
    }
    input.on('keypress', onKey)
  })
}
