import { type MantineBreakpoint, Table, VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'
import { useGrowingRows } from './use-growing-rows.ts'

export interface Column<Row> {
  header: string
  render: (row: Row) => ReactNode
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
}

/** A table of a page of rows. */
export function DataTable<Row>({ columns, rows, keyOf, minWidth }: DataTableProps<Row>) {
  const shown = columns.filter((column) => column !== false)
  const shownRows = useGrowingRows(rows)
  return (
    <Table.ScrollContainer minWidth={minWidth}>
      <Table highlightOnHover verticalSpacing="xs" aria-busy={shownRows.length < rows.length}>
        <Table.Thead>
          <Table.Tr>
            {shown.map((column) => (
              <Table.Th key={column.header} {...cellProps(column)}>
                {column.isHeaderHidden ? <VisuallyHidden>{column.header}</VisuallyHidden> : column.header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shownRows.map((row) => (
            <Table.Tr key={keyOf(row)}>
              {shown.map((column) => (
                <Table.Td key={column.header} {...cellProps(column)}>
                  {column.render(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
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
