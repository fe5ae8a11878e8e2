// Finds tests that wait for a time instead of an event. What takes longer than a moment is passed on a test clock or
// timer, or waited for with `waitUntil`.
const maxSleepMs = 50

/** Files that may wait longer, and why. */
const exceptions: Record<string, string> = {
  'src/platform/http/egress-client.test.ts':
    'a response must come after the timeout of its connection, which is not on a test clock',
}

const sleepCall = /\bsleep\(\s*([\d_]+)\s*\)/g
const timeoutCall = /\bsetTimeout\([^;\n]*,\s*([\d_]+)\s*\)/g

export function findLongSleeps(path: string, text: string): string[] {
  if (path in exceptions) return []
  const calls = [...text.matchAll(sleepCall), ...text.matchAll(timeoutCall)]
  return calls
    .map(([, digits = '']) => Number(digits.replaceAll('_', '')))
    .filter((ms) => ms > maxSleepMs)
    .map((ms) => `${path} sleeps ${ms} ms: wait for the event, or let time pass on the clock or timer`)
}
