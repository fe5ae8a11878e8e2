import { z } from 'zod'

/** Text on one line: it may be shown in mails, headers and log lines. */
const singleLine = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u

const message = 'must not contain control characters or line breaks'

export function isSingleLine(text: string): boolean {
  return singleLine.test(text)
}

/** Replaces line breaks and control characters in a name from elsewhere that cannot be rejected. */
export function toSingleLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

/** Text on one line, which may be empty. */
export function textLine(maxLength: number) {
  return z.string().max(maxLength).regex(singleLine, message)
}

export function lineField(maxLength: number) {
  return textLine(maxLength).min(1)
}

/** The name of a record or a person, which users see. Markup is text like any other. */
export function nameField(maxLength: number) {
  return z.string().regex(singleLine, message).trim().min(1).max(maxLength)
}
