import { Tooltip } from '@mantine/core'
import { formatAge, formatTime, formatUtc } from '../format/time.ts'

/** A moment in the zone of the viewer, with UTC on hover. */
export function Time({ iso, style = 'full' }: { iso: string | null; style?: 'full' | 'age' }) {
  if (!iso) return <>–</>
  const text = style === 'age' ? formatAge(iso) : formatTime(iso)
  return (
    <Tooltip label={style === 'age' ? `${formatTime(iso)} · ${formatUtc(iso)}` : formatUtc(iso)}>
      <time dateTime={iso}>{text}</time>
    </Tooltip>
  )
}
