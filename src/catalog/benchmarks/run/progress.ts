import { usdFromNanos } from '../../../platform/money/money.ts'
import type { Progress } from './runner.ts'

interface Output {
  isTTY?: boolean
  write(text: string): unknown
}

const barWidth = 30

/** A bar that is redrawn on a terminal; elsewhere a line for every tenth of the work. */
export function createProgressPrinter(output: Output): (progress: Progress) => void {
  let lastTenth = -1
  return (progress) => {
    const { done, total } = progress
    if (output.isTTY) {
      output.write(`\r${formatBar(progress)}${done === total ? '\n' : ''}`)
      return
    }
    const tenth = Math.floor((10 * done) / total)
    if (tenth === lastTenth) return
    lastTenth = tenth
    output.write(`${formatCounts(progress)}\n`)
  }
}

function formatBar(progress: Progress): string {
  const filled = Math.floor((barWidth * progress.done) / progress.total)
  return `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${formatCounts(progress)}`
}

function formatCounts({ done, total, correct, spent }: Progress): string {
  return `${done}/${total} tasks, ${correct} right, $${usdFromNanos(spent).toFixed(6)}`
}
