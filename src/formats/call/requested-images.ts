/** Known properties of the images that a request generates. */
export interface RequestedImages {
  size?: string | undefined
  resolution?: string | undefined
  quality?: string | undefined
  /** Previews of each image. */
  previews: number
}
