import { Anchor } from '@mantine/core'
import { createLink } from '@tanstack/react-router'

/** A link to another screen, in a text or a table. */
export const TextLink = createLink(Anchor)
