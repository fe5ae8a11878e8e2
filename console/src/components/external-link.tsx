import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'

/** A link to another site. Only web addresses are links; anything else is shown as text. */
export function ExternalLink({ url, children }: { url: string; children: ReactNode }) {
  const isWeb = /^https?:$/.test(URL.parse(url)?.protocol ?? '')
  if (!isWeb) return <>{url}</>
  return (
    <Anchor href={url} target="_blank" rel="noopener noreferrer nofollow" size="sm" underline="always">
      {children}
    </Anchor>
  )
}
