import { notifications } from '@mantine/notifications'
import { formatPlural } from '../format/number.ts'

interface Named {
  name: string
}

/** Does the same with one record after another, and says how many failed, with the first reason. */
export async function runForAll<Row extends Named>(
  rows: readonly Row[],
  noun: string,
  act: (row: Row) => Promise<unknown>,
): Promise<void> {
  const failures: string[] = []
  for (const row of rows) {
    try {
      await act(row)
    } catch (error) {
      failures.push(`${row.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const [first] = failures
  const changed = formatPlural(rows.length - failures.length, noun)
  if (first === undefined) notifications.show({ message: `${changed} changed.` })
  else
    notifications.show({
      color: 'red',
      autoClose: false,
      title: `${changed} changed, ${failures.length} failed`,
      message: first,
    })
}
