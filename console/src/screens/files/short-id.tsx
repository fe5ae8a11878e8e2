import { Box } from '@mantine/core'
import { Copy, Id } from '../../components/copy.tsx'

/** An id below a name; on a phone only the button that copies it. */
export function ShortId({ value, label }: { value: string; label: string }) {
  return (
    <>
      <Box visibleFrom="sm">
        <Id value={value} label={label} />
      </Box>
      <Box hiddenFrom="sm">
        <Copy value={value} label={label} />
      </Box>
    </>
  )
}
