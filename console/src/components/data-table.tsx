import { Checkbox, type MantineBreakpoint, Table, VisuallyHidden } from '@mantine/core'
import type { KeyboardEvent, ReactNode } from 'react'
import type { CsvCell } from '../format/csv.ts'
import { ManagedBadge } from './managed.tsx'
import { useGrowingRows } from './use-growing-rows.ts'
import type { Selection } from './use-selection.ts'

export interface Column<Row> {
  header: string
  render: (row: Row) => ReactNode
  /** The value in a CSV file. A column without it is not exported. */
  csv?: (row: Row) => CsvCell
  /** Shows the header to screen readers only, such as over buttons. */
  isHeaderHidden?: boolean
  /** Allows breaks within words, for texts that people wrote. */
  breaksWords?: boolean
  /** Numbers stand one below the other. */
  isNumber?: boolean
  maxWidth?: number
  visibleFrom?: MantineBreakpoint
}

interface DataTableProps<Row> {
  /** The columns; false ones are omitted. */
  columns: (Column<Row> | false)[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** A narrower screen scrolls the table. */
  minWidth: number
  /** Shows a checkbox in each row. */
  selection?: Selection
  /** The accessible name of a row, for its checkbox. */
  nameOf?: (row: Row) => string
}

/** A table of a page of rows. */
export function DataTable<Row>({ columns, rows, keyOf, minWidth, selection, nameOf }: DataTableProps<Row>) {
  const shown = columns.filter((column) => column !== false)
  const shownRows = useGrowingRows(rows)
  return (
    <Table.ScrollContainer minWidth={minWidth}>
      <Table highlightOnHover verticalSpacing="xs" aria-busy={shownRows.length < rows.length}>
        <Table.Thead>
          <Table.Tr>
            {selection && <SelectAll selection={selection} count={rows.length} />}
            {shown.map((column) => (
              <Table.Th key={column.header} {...cellProps(column)}>
                {column.isHeaderHidden ? <VisuallyHidden>{column.header}</VisuallyHidden> : column.header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shownRows.map((row) => (
            <Table.Tr key={keyOf(row)} {...(selection?.selected.has(keyOf(row)) && { bg: selectedColor })}>
              {selection && (
                <SelectRow selection={selection} id={keyOf(row)} name={nameOf?.(row) ?? keyOf(row)} />
              )}
              {shown.map((column, index) => (
                <Table.Td key={column.header} {...cellProps(column)}>
                  {column.render(row)}
                  {index === 0 && <ManagedBadge record={row} />}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

const selectedColor = 'var(--mantine-primary-color-light)'

function SelectAll({ selection: { selected, toggleAll }, count }: { selection: Selection; count: number }) {
  const isAll = count > 0 && selected.size === count
  return (
    <Table.Th w={36}>
      <Checkbox
        size="xs"
        aria-label="Select all rows"
        checked={isAll}
        indeterminate={selected.size > 0 && !isAll}
        onChange={toggleAll}
      />
    </Table.Th>
  )
}

interface SelectRowProps {
  selection: Selection
  id: string
  name: string
}

function SelectRow({ selection, id, name }: SelectRowProps) {
  return (
    <Table.Td>
      <Checkbox
        size="xs"
        aria-label={`Select ${name}`}
        data-row-select
        checked={selection.selected.has(id)}
        onChange={({ nativeEvent }) =>
          selection.toggle(id, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true)
        }
        onKeyDown={moveFocus}
      />
    </Table.Td>
  )
}

/** Arrow keys lead to the checkbox of the next row. */
function moveFocus(event: KeyboardEvent<HTMLInputElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const table = event.currentTarget.closest('table')
  const boxes = [...(table?.querySelectorAll<HTMLInputElement>('[data-row-select]') ?? [])]
  boxes[boxes.indexOf(event.currentTarget) + step]?.focus()
}

function cellProps<Row>({ isNumber, maxWidth, visibleFrom, breaksWords }: Column<Row>) {
  return {
    ...(isNumber && { ta: 'right' as const }),
    ...(maxWidth !== undefined && { maw: maxWidth }),
    ...(visibleFrom && { visibleFrom }),
    style: {
      ...(breaksWords && { overflowWrap: 'anywhere' as const }),
      ...(isNumber && { fontVariantNumeric: 'tabular-nums' }),
    },
  }
}
