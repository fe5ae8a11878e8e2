import { Anchor, Button } from '@mantine/core'
import { HelpIcon } from './icons.tsx'

/** Opens a page of the documentation, which the server has outside the console. */
export function DocsLink({ page }: { page: string }) {
  return (
    <Button
      component="a"
      href={`docs/${page}`}
      target="_blank"
      variant="default"
      size="xs"
      leftSection={<HelpIcon />}
    >
      Docs
    </Button>
  )
}

/** A page of the documentation, within a text. */
export function DocsTextLink({ page, children }: { page: string; children: string }) {
  return (
    <Anchor inherit underline="always" href={`docs/${page}`} target="_blank">
      {children}
    </Anchor>
  )
}
