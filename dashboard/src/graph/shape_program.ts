// Draws the nodes with one WebGL program. Its shapes are distance functions; form and ring repeat the meaning of the
// colour for people who cannot tell the colours apart. It adds the attributes `form`, `ring`, `ringColor` to sigma's
// node programs.
import {NodeProgram, type ProgramInfo} from 'sigma/rendering';
import type {NodeDisplayData, RenderParams} from 'sigma/types';
import {floatColor} from 'sigma/utils';

export const forms = {disc: 0, square: 1, diamond: 2, triangle: 3, hollow: 4, arrow: 5, cell: 6} as const;
export const rings = {none: 0, thin: 1, thick: 2, dashed: 3, dotted: 4} as const;

export interface ShapeData extends NodeDisplayData {
  form: number;
  ring: number;
  ringColor: string;
}

const vertexShader = /* glsl */ `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec4 a_ringColor;
attribute vec2 a_position;
attribute vec2 a_style;
attribute float a_size;
attribute vec2 a_corner;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_pixelRatio;
varying vec4 v_color;
varying vec4 v_ringColor;
varying vec2 v_at;
varying vec2 v_style;
varying float v_pixel;
const float reach = 1.9;
const float bias = 255.0 / 254.0;
void main() {
  float radius = a_size * u_correctionRatio / u_sizeRatio * 2.0;
  gl_Position = vec4((u_matrix * vec3(a_position + a_corner * radius * reach, 1)).xy, 0, 1);
  v_at = a_corner * reach;
  v_style = a_style;
  v_pixel = 1.0 / (a_size * u_pixelRatio);
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= bias;
  v_ringColor = a_ringColor;
  v_ringColor.a *= bias;
}`;

const fragmentShader = /* glsl */ `
precision highp float;
varying vec4 v_color;
varying vec4 v_ringColor;
varying vec2 v_at;
varying vec2 v_style;
varying float v_pixel;
float outside(vec2 p, float form) {
  vec2 q = abs(p);
  if (form < 0.5) return length(p) - 0.9;
  if (form < 1.5) return max(q.x, q.y) - 0.85;
  if (form < 2.5) return (q.x + q.y - 1.2) * 0.7071;
  if (form < 3.5) return max(q.x * 0.866 + p.y * 0.5, -p.y) - 0.55;
  if (form < 4.5) return abs(length(p) - 0.7) - 0.22;
  if (form < 5.5) return max(q.y * 0.866 + p.x * 0.5, -p.x) - 0.5;
  return length(max(q - 0.6, 0.0)) - 0.3;
}
float ringCover(float d, float style) {
  if (style < 0.5) return 0.0;
  float wide = style < 1.5 ? 0.13 : style < 2.5 ? 0.24 : 0.17;
  float cover = 1.0 - smoothstep(-v_pixel, v_pixel, abs(d - 0.42) - wide);
  float turn = (atan(v_at.y, v_at.x) / 6.2831853 + 0.5);
  if (style > 3.5) return cover * step(0.5, fract(turn * 10.0));
  if (style > 2.5) return cover * step(0.4, fract(turn * 5.0));
  return cover;
}
void main() {
  float d = outside(v_at, v_style.x);
  float body = 1.0 - smoothstep(-v_pixel, v_pixel, d);
  #ifdef PICKING_MODE
  gl_FragColor = d > 0.3 ? vec4(0.0) : v_color;
  #else
  float ring = ringCover(max(d, length(v_at) - 0.9), v_style.y);
  gl_FragColor = v_color * body + v_ringColor * ring * (1.0 - body);
  #endif
}`;

const uniforms = ['u_sizeRatio', 'u_correctionRatio', 'u_pixelRatio', 'u_matrix'] as const;
const {FLOAT, UNSIGNED_BYTE, TRIANGLES} = WebGLRenderingContext;

export class ShapeProgram extends NodeProgram<(typeof uniforms)[number]> {
  getDefinition() {
    return {
      VERTICES: 6,
      VERTEX_SHADER_SOURCE: vertexShader,
      FRAGMENT_SHADER_SOURCE: fragmentShader,
      METHOD: TRIANGLES as 4,
      UNIFORMS: uniforms,
      ATTRIBUTES: [
        {name: 'a_position', size: 2, type: FLOAT as 5126},
        {name: 'a_size', size: 1, type: FLOAT as 5126},
        {name: 'a_style', size: 2, type: FLOAT as 5126},
        {name: 'a_color', size: 4, type: UNSIGNED_BYTE as 5121, normalized: true},
        {name: 'a_ringColor', size: 4, type: UNSIGNED_BYTE as 5121, normalized: true},
        {name: 'a_id', size: 4, type: UNSIGNED_BYTE as 5121, normalized: true},
      ],
      CONSTANT_ATTRIBUTES: [{name: 'a_corner', size: 2, type: FLOAT as 5126}],
      CONSTANT_DATA: [
        [-1, -1],
        [1, -1],
        [-1, 1],
        [-1, 1],
        [1, -1],
        [1, 1],
      ],
    };
  }

  processVisibleItem(nodeIndex: number, i: number, data: NodeDisplayData): void {
    const {form, ring, ringColor} = data as ShapeData;
    const array = this.array;
    array[i++] = data.x;
    array[i++] = data.y;
    array[i++] = data.size;
    array[i++] = form;
    array[i++] = ring;
    array[i++] = floatColor(data.color);
    array[i++] = floatColor(ringColor);
    array[i++] = nodeIndex;
  }

  setUniforms(params: RenderParams, {gl, uniformLocations}: ProgramInfo): void {
    gl.uniform1f(uniformLocations.u_correctionRatio!, params.correctionRatio);
    gl.uniform1f(uniformLocations.u_sizeRatio!, params.sizeRatio);
    gl.uniform1f(uniformLocations.u_pixelRatio!, params.pixelRatio);
    gl.uniformMatrix3fv(uniformLocations.u_matrix!, false, params.matrix);
  }
}
