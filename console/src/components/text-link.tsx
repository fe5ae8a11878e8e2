import { Anchor, type AnchorProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentPropsWithRef } from 'react'

type TextLinkProps = AnchorProps & Omit<ComponentPropsWithRef<'a'>, keyof AnchorProps>

function LinkAnchor(props: TextLinkProps) {
  return <Anchor {...props} />
}

/** A link to another screen, in a text or a table. */
export const TextLink = createLink(LinkAnchor)
